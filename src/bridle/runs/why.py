"""Why something happened: the decision about a call, or what an event follows from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.gate.decide import terms_of
from bridle.journal.state import ThreadState
from bridle.permissions.evaluate import evaluate
from bridle.permissions.explain import flip
from bridle.runs.words import told
from bridle.types import events as ev
from bridle.types.base import Fact
from bridle.types.hooks import concluded
from bridle.types.permissions import Decision, Policy, TraceStep, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence


class Cause(Fact, frozen=True, kw_only=True):
    """One event on the way back to where it all came from."""

    id: str
    type: str
    what: str


class Verdicts(Fact, frozen=True, kw_only=True):
    """The decision about a call; `flip` is the smallest change of rules that turns it around."""

    call_id: str
    tool: str
    effect: Verdict
    rule: str
    layer: str
    source: str | None
    reason: str | None
    trace: tuple[TraceStep, ...]
    answered: str | None = None
    flip: str | None = None
    flip_gives: str | None = None


class Why(Fact, frozen=True, kw_only=True):
    """An event, the decision that it is about if any, and its causes, nearest first."""

    id: str
    type: str
    what: str
    run_id: str | None
    decision: Verdicts | None
    causes: tuple[Cause, ...]


def policy_name(events: Sequence[ev.DurableEvent], event: ev.Event) -> str | None:
    """The blob of the policy that held for a run at an event."""
    name = None
    for earlier in events:
        if earlier.seq > event.seq:
            break
        if earlier.run_id == event.run_id and isinstance(earlier, ev.RunStarted | ev.PrefixBroken):
            name = earlier.policy or name
    return name


def why(events: Sequence[ev.DurableEvent], seq: int, policy: Policy | None) -> Why:
    """Explain the event of this seq; `policy` is the one that held for its run then."""
    event = events[seq - 1]
    return Why(
        id=event.id,
        type=event.type,
        what=told(event),
        run_id=event.run_id,
        decision=_decision(events, event, policy),
        causes=tuple(
            Cause(id=cause.id, type=cause.type, what=told(cause)) for cause in causes(events, event)
        ),
    )


def _decision(
    events: Sequence[ev.DurableEvent], event: ev.Event, policy: Policy | None
) -> Verdicts | None:
    call_id = getattr(event, "call_id", None)
    decided = [
        e for e in events if isinstance(e, ev.PermissionDecided) and e.call_id == call_id
    ]  # decided again when somebody changed the arguments
    if call_id is None or not decided:
        return None
    found = event if isinstance(event, ev.PermissionDecided) else decided[-1]
    called = next(
        (e for e in events if isinstance(e, ev.ToolCalled) and e.call_id == call_id), None
    )
    answer = next(
        (e for e in events if isinstance(e, ev.ApprovalAnswered) and e.call_id == call_id), None
    )
    change = _flip(events, found, called, policy) if called is not None else None
    return Verdicts(
        call_id=call_id,
        tool=found.tool,
        effect=found.effect,
        rule=found.rule,
        layer=found.layer,
        source=found.source,
        reason=found.reason,
        trace=found.trace,
        answered=None if answer is None else ("approved" if answer.approved else "rejected"),
        flip=change[0] if change is not None else None,
        flip_gives=change[1] if change is not None else None,
    )


def _flip(
    events: Sequence[ev.DurableEvent],
    found: ev.PermissionDecided,
    called: ev.ToolCalled,
    policy: Policy | None,
) -> tuple[str, str] | None:
    if policy is None:
        return None
    state = ThreadState(found.thread_id)
    for event in events[: found.seq - 1]:
        state.apply(event)
    terms = terms_of(state.grants, state.rules)
    whole = msgspec.structs.replace(policy, rules=(*terms.rules, *policy.rules))
    facts = called.facts
    if facts.args is None:
        facts = msgspec.structs.replace(facts, args=called.args)
    facts, hook = concluded(_asked(events, found), facts)
    decision = Decision(effect=found.effect, rule=found.rule, layer=found.layer, trace=found.trace)
    change = flip(decision, found.tool, facts, whole, terms.grants, hook)
    if change is not None:
        return change.change, change.gives
    if hook is None or found.rule != f"hook:{hook.hook}":
        return None
    where = f" at {hook.source}" if hook.source else ""
    without = evaluate(found.tool, facts, whole, terms.grants)
    return f"change the hook {hook.hook}{where}", without.effect


def _asked(events: Sequence[ev.DurableEvent], found: ev.PermissionDecided) -> list[ev.HookRan]:
    """The hooks that were asked about a call for this decision: they stand right before it."""
    rans: list[ev.HookRan] = []
    for event in reversed(events[: found.seq - 1]):
        if not isinstance(event, ev.HookRan) or event.call_id != found.call_id:
            break
        rans.insert(0, event)
    return rans


def causes(events: Sequence[ev.DurableEvent], event: ev.Event) -> list[ev.Event]:
    """What an event follows from, and what that follows from, back to what came from outside."""
    found: list[ev.Event] = []
    index = _Index(events)
    current = index.cause(event)
    while current is not None and current not in found and len(found) < len(events):
        found.append(current)
        current = index.cause(current)
    return found


class _Index:
    """Finds the one event that another one follows from most directly."""

    def __init__(self, events: Sequence[ev.DurableEvent]) -> None:
        self._events = events
        self._admitted: dict[str, ev.Event] = {}
        self._called: dict[str, ev.Event] = {}
        self._asked: dict[str, ev.Event] = {}
        for event in events:
            if isinstance(event, ev.InputAdmitted):
                self._admitted[event.input_id] = event
            elif isinstance(event, ev.ToolCalled):
                self._called[event.call_id] = event
            elif isinstance(event, ev.MessageEnded):
                for call in event.message.calls:
                    self._asked[call.id] = event

    def cause(self, event: ev.Event) -> ev.Event | None:
        match event:
            case ev.ThreadCreated() | ev.InputAdmitted():
                return None
            case ev.ToolCalled():
                return self._asked.get(event.call_id)
            case ev.ToolReturned() | ev.SubagentStarted() | ev.CheckpointTaken():
                return self._of_call(event, event.call_id)
            case _:
                pass
        consumed = self._consumed(event)
        if consumed is not None:
            return consumed
        call_id = getattr(event, "call_id", None)
        if isinstance(call_id, str) and call_id in self._called:
            return self._called[call_id]
        return self._before(event)

    def _consumed(self, event: ev.Event) -> ev.Event | None:
        names: tuple[str, ...] = getattr(event, "consumes", ())
        return next((self._admitted[name] for name in names if name in self._admitted), None)

    def _of_call(self, event: ev.Event, call_id: str) -> ev.Event | None:
        """A call acts because it was answered, or decided, or made."""
        consumed = self._consumed(event)
        if consumed is not None:
            return consumed
        kinds = (ev.ApprovalAnswered, ev.PermissionDecided, ev.ToolCalled)
        for earlier in reversed(self._events[: event.seq - 1]):
            if isinstance(earlier, kinds) and earlier.call_id == call_id:
                return earlier
        return None

    def _before(self, event: ev.Event) -> ev.Event | None:
        """What the run did last; a message answers to a result or to another message."""
        wanted: tuple[type[ev.Event], ...] = (ev.Event,)
        if isinstance(event, ev.MessageStarted):
            wanted = (ev.ToolReturned, ev.MessageEnded, ev.RunStarted)
        elif isinstance(event, ev.MessageEnded | ev.UsageUpdated):
            wanted = (ev.MessageStarted, ev.RunStarted)
        for earlier in reversed(self._events[: event.seq - 1]):
            same = event.run_id is None or earlier.run_id == event.run_id
            if same and isinstance(earlier, wanted):
                return earlier
        return None


def trace_lines(found: Verdicts) -> list[str]:
    """The trace, step by step, to be read by a person."""
    lines = []
    for number, step in enumerate(found.trace, 1):
        words = [step.stage, step.verdict, step.rule, step.part, step.why, step.source]
        lines.append(f"{number:>3}. " + " · ".join(word for word in words if word))
    return lines
