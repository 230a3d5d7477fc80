"""Tools, checks, budget and clock that answer from the log, and the setup made of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.agent.setup import NATIVE, RequestHead, RunSetup, Wanted
from bridle.errors import LeaseLost, UserError
from bridle.gate.batch import Concurrency
from bridle.gate.decide import Decider
from bridle.permissions.evaluate import evaluate
from bridle.ports.clock import from_iso
from bridle.ports.tools import CallScope, Child, Outcome, Settled, Suspended
from bridle.runs.replay.cuts import upcoming_cut
from bridle.runs.replay.hooks import TapeHooks
from bridle.runs.replay.model import TapeModel
from bridle.runs.replay.tape import bare
from bridle.types import events as ev
from bridle.types.ledger import Ask, NoRoom, Room
from bridle.types.ops import Send
from bridle.types.permissions import Decision, Policy
from bridle.types.threads import Thread

if TYPE_CHECKING:
    import anyio

    from bridle.journal.calls import CallState
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.ports.store import Store
    from bridle.runs.replay.cuts import Cuts
    from bridle.runs.replay.tape import Tape
    from bridle.types.content import ToolCall
    from bridle.types.tools import CallFacts, ToolSpec

_head = msgspec.json.Decoder(RequestHead)
EMITTED = (
    ev.TasksUpdated,
    ev.CheckpointTaken,
    ev.SubagentStarted,
    ev.Noted,
    ev.SettingsChanged,
    ev.PermissionGranted,
    ev.HookRan,
)
"""Events that tools record beside their results."""

_policy = msgspec.json.Decoder(Policy)


@dataclass(frozen=True, slots=True)
class TapeTools:
    """Describes calls as they were described."""

    tape: Tape
    specs: tuple[ToolSpec, ...]

    def describe(self, call: ToolCall) -> CallFacts:
        """The recorded facts of a call, or of its answer when its arguments were changed."""
        called = self.tape.ahead(ev.ToolCalled, lambda e: e.call_id == call.id)
        if called is not None:
            return called.facts
        answered = self.tape.ahead(ev.ApprovalAnswered, lambda e: e.call_id == call.id)
        if answered is not None and answered.facts is not None:
            return answered.facts
        raise LeaseLost("the recorded drain ended before this call")

    def card(
        self, call: ToolCall, facts: CallFacts, decision: Decision, policy: Policy
    ) -> dict[str, Any]:
        """The recorded card: it may show files as they were then."""
        asked = self.tape.ahead(ev.ApprovalRequired, lambda e: e.call_id == call.id)
        return asked.card if asked is not None else {}

    async def execute(self, call: ToolCall, scope: CallScope) -> Outcome:
        """Nothing runs in a replay."""
        raise AssertionError("a replay has no effects")


@dataclass(frozen=True, slots=True)
class TapeRunner:
    """Gives the recorded outcome of a call, when its turn comes."""

    tape: Tape

    async def run(self, state: CallState, scope: CallScope) -> Settled | Suspended:
        """Wait for the place of the outcome in the log, and return it."""
        ended = self.tape.ahead(ev.ToolReturned, lambda e: e.call_id == state.call.id)
        parked = self.tape.ahead(ev.CallSuspended, lambda e: e.call_id == state.call.id)
        if parked is not None and (ended is None or parked.seq < ended.seq):
            await self.tape.reach(parked)
            return self._suspended(parked)
        if ended is None or ended.stopped:  # it was running when the drain was stopped
            await self.tape.border()
            raise LeaseLost("the recorded drain ended while this call was running")
        events = [*self._emitted(state.call.id, ended), ended]
        await self.tape.reach(events[0])
        return Settled(events=tuple(bare(event) for event in events))

    def _emitted(self, call_id: str, ended: ev.ToolReturned) -> list[ev.Event]:
        """The events that a call recorded together with its result."""
        return [
            event
            for event in self.tape.events[self.tape.position :]
            if isinstance(event, EMITTED) and event.call_id == call_id and event.seq < ended.seq
        ]

    def _suspended(self, parked: ev.CallSuspended) -> Suspended:
        begun = self.tape.ahead(ev.SubagentStarted, lambda e: e.call_id == parked.call_id)
        child = None
        if begun is not None:
            child = Child(
                thread=Thread(id=begun.child_thread_id, resource_id=""),
                send=Send(run_id=begun.child_run_id, parts=(), model=begun.model_id),
                agent_type=begun.agent_type,
                name=begun.name,
                forked=begun.forked,
            )
        return Suspended(
            id=parked.pending_id, kind=parked.kind, payload=parked.payload, child=child
        )


@dataclass(frozen=True, slots=True)
class TapeBudget:
    """The room that was found."""

    tape: Tape

    async def room(self, ask: Ask, account: str) -> Room | NoRoom:
        """The recorded reservation, or the recorded refusal."""
        reserved = self.tape.ahead(ev.BudgetReserved, lambda e: e.run_id == account)
        refused = self.tape.ahead(ev.BudgetExhausted, lambda e: e.run_id == account)
        if refused is not None and (reserved is None or refused.seq < reserved.seq):
            return NoRoom(refused.why, final=True)
        if reserved is None and not self.tape.at_border and upcoming_cut(self.tape) is None:
            return Room(ask.output_tokens, 0.0, 0)  # refused: what came in meanwhile went first
        if reserved is None:  # it was waiting for room when the drain was stopped
            await self.tape.border()
            raise LeaseLost("the recorded drain ended before this request")
        return Room(output_tokens=reserved.output_tokens, usd=reserved.usd, tokens=reserved.tokens)


@dataclass(frozen=True, slots=True)
class TapeChecks:
    """Gives the recorded checks and what they said."""

    tape: Tape
    max_rounds: int = 0

    async def plan(self, run_id: str) -> tuple[ev.CheckStarted, ...]:
        """The checks that were run after this point."""
        return tuple(
            bare(event)
            for event in takewhile(_not_answered, self.tape.events[self.tape.position :])
            if isinstance(event, ev.CheckStarted) and event.run_id == run_id
        )

    async def run(self, check: ev.CheckStarted, output: str) -> ev.CheckEnded:
        """The recorded result."""
        ended = self.tape.ahead(
            ev.CheckEnded, lambda e: e.name == check.name and e.run_id == check.run_id
        )
        if ended is None:  # it was cut, or the drain was killed
            await self.tape.border()
            raise LeaseLost("the recorded drain ended during this check")
        return bare(ended)


@dataclass(slots=True)
class TapeClock:
    """The time of the next recorded event; nothing waits, and a deadline passes where it did."""

    tape: Tape
    cuts: Cuts

    def now(self) -> float:
        """Tell the recorded time."""
        event = self.tape.next or self.tape.events[-1]
        return from_iso(event.at)

    async def sleep(self, seconds: float) -> None:
        """Do not wait."""

    def deadline(self, seconds: float) -> anyio.CancelScope:
        """A scope that is cancelled by the tape and not by time."""
        return self.cuts.new_deadline()


@dataclass(frozen=True, slots=True)
class TapePreparer:
    """Builds the recorded setup of a run."""

    tape: Tape
    store: Store

    async def __call__(self, state: ThreadState, wanted: Wanted) -> RunSetup:
        """Everything as it was when the run started."""
        started = wanted.started or self._started(wanted)
        head_name = wanted.head or started.head
        if wanted.started is not None and wanted.head is None:
            broken = self.tape.ahead(ev.PrefixBroken, lambda e: e.run_id == started.run_id)
            head_name = broken.head if broken is not None else head_name
        if not started.head:
            refused = self.tape.ahead(ev.ErrorRaised, lambda e: e.run_id == started.run_id)
            raise UserError(refused.error.message if refused is not None else "refused")
        if wanted.started is not None:
            self._check_set_up()
        head = _head.decode(await self._blob(head_name))
        policy = _policy.decode(await self._blob(started.policy))
        tools = TapeTools(self.tape, head.tools)
        return RunSetup(
            model_id=wanted.model or started.model_id or "",
            model=TapeModel(self.tape, started.model_id or "", started),
            fallbacks=started.fallbacks,
            head=head,
            policy=policy,
            decider=Decider(toolbox=tools, policy=policy, evaluate=evaluate, card=tools.card),
            runner=TapeRunner(self.tape),
            budget=TapeBudget(self.tape),
            limits=started.limits,
            checks=TapeChecks(self.tape, started.check_rounds),
            hooks=TapeHooks(self.tape),
            mode_id=wanted.mode or started.mode_id,
            count=self._count,
            tool_calls=self._tool_calls(),
            concurrency=Concurrency(children=started.limits.max_parallel),
            stop_when=self._stopped,
        )

    def _tool_calls(self) -> str:
        """The format of the next recorded request."""
        asked = self.tape.ahead(ev.MessageStarted, lambda e: e.request is not None)
        if asked is None or asked.request is None or asked.request.tool_calls is msgspec.UNSET:
            return NATIVE
        return asked.request.tool_calls

    def _stopped(self, _run: RunState) -> bool:
        """Whether the recorded run was told here that it has done enough."""
        return isinstance(self.tape.next, ev.Noted) and self.tape.next.code == "stop_when"

    def _check_set_up(self) -> None:
        """Fail where the recorded drain could not set the run up again."""
        for event in self.tape.events[self.tape.position :]:
            match event:
                case ev.ApprovalAnswered(consumes=()) | ev.BudgetSettled(estimated=True):
                    continue
                case ev.ToolReturned(stopped=True, kind="error"):
                    continue
                case ev.RunEnded(reason="error", error=failure) if failure is not None:
                    if failure.type == "configuration":
                        raise UserError(failure.message)
                    return
                case _:
                    return

    def _count(self, _text: str) -> int:
        """The recorded estimate: another tokenizer may be installed today."""
        told = self.tape.ahead(ev.UsageUpdated, lambda _event: True)
        return told.usage.output_tokens if told is not None else 0

    def _started(self, wanted: Wanted) -> ev.RunStarted:
        assert wanted.send is not None
        run_id = wanted.send.run_id
        started = self.tape.ahead(ev.RunStarted, lambda e: e.run_id == run_id)
        if started is None:
            raise LeaseLost("the recorded drain ended before this run")
        return started

    async def _blob(self, name: str) -> bytes:
        body = await self.store.blob(name)
        if body is None:
            raise UserError(f"The log names blob {name[:12]}…, which is missing.")
        return body


def _not_answered(event: ev.Event) -> bool:
    """Before the next message: checks after it are those of another round."""
    return not isinstance(event, ev.MessageStarted | ev.RunEnded)
