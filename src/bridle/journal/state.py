"""The fold of a thread's log: everything that a drain needs to know, and nothing that it decides.

`ThreadState` is what the log says up to `seq`. It changes only by `apply`, so what is in memory
always equals what is in the log.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.journal.calls import CallStage, CallState
from bridle.ports.tools import Helper
from bridle.types import events as ev
from bridle.types.agents import facts_of
from bridle.types.base import Moving
from bridle.types.content import File, Image, Part, Text, ToolCall, ToolResult
from bridle.types.hooks import noted
from bridle.types.ids import message_id
from bridle.types.messages import Message
from bridle.types.ops import (
    Answer,
    AnswerPlan,
    Approve,
    Decline,
    Deliver,
    ResumeTool,
    Send,
    Steer,
)
from bridle.types.output import OUTPUT, ROUND
from bridle.types.permissions import Rule
from bridle.types.plans import Plan
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridle.types.agents import Mail
    from bridle.types.ops import Op
    from bridle.types.tasks import Task
    from bridle.types.threads import Thread


class OpenRequest(Moving):
    """A model request that was started and has no answer in the log yet."""

    message_id: str
    reservation: ev.BudgetReserved | None


class RunState(Moving):
    """One run: what it was given and what it has used."""

    run_id: str
    start: ev.RunStarted
    steps: int = 0
    tool_calls: int = 0
    usage: Usage = msgspec.field(default_factory=Usage)
    cost_usd: float = 0.0
    request: OpenRequest | None = None
    reservation: ev.BudgetReserved | None = None
    calls: list[CallState] = msgspec.field(default_factory=list)
    asked: tuple[ToolCall, ...] = ()
    """The calls of the last message; `calls` are those of them that were recorded."""
    last: Message | None = None
    text: str = ""
    """The last words of the model, where it had any."""
    files: dict[str, None] = msgspec.field(default_factory=dict)
    """What its calls changed, in order."""
    mode_id: str = "main"
    head: str = ""
    measured: tuple[int, int] = (0, 0)
    """Tokens of the last request and its answer, as told, and the weight of the thread then."""
    model_id: str | None = None
    fallen: int = 0
    """How many of the fallback models were taken."""
    paused: bool = False
    paused_at: str = ""
    parked_seconds: float = 0.0
    failures: int = 0
    """Requests that failed since the last answer."""
    error: ev.ErrorRaised | None = None
    exhausted: str | None = None
    expired: bool = False
    halted: ev.HookRan | None = None
    """The hook that ended the run."""
    told: list[str] = msgspec.field(default_factory=list)
    """Words of hooks that the model reads when its calls are settled."""
    closed: int | None = None
    """The step after which hooks let the run end."""
    kept_on: int = 0
    """How often hooks did not."""
    checks: dict[str, ev.CheckEnded] = msgspec.field(default_factory=dict)
    rounds: int = 0
    """How often failed checks were sent back."""
    retold: int = 0
    """How often an answer of the wrong form was sent back."""
    trail: list[tuple[str, ...]] = msgspec.field(default_factory=list)
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    """The request's context: what the run began with, then what steers and answers brought."""
    ended: ev.RunEnded | None = None
    satisfied: bool = False
    """Whether what `stop_when` looks for was found."""
    helpers: dict[str, Helper] = msgspec.field(default_factory=dict)
    """The children that no call waits for, by the call that started them."""

    @property
    def open_calls(self) -> list[CallState]:
        """The calls of the present step without a result, in order."""
        return [call for call in self.calls if not call.settled]

    @property
    def open_children(self) -> list[ev.SubagentStarted]:
        """The children that still work, waited for or not."""
        waited = [call.child for call in self.open_calls if call.child is not None]
        return waited + [one.started for one in self.helpers.values() if one.ended is None]

    @property
    def held_calls(self) -> list[CallState]:
        """The calls that hooks are asked about before they are decided."""
        return [call for call in self.calls if call.held]


RULES_SETTING = "permissions"
MAIL_KEPT = "mail_kept"
PLAN_SETTING = "plan"

TO_A_RUN = (Steer, Approve, Decline, Answer, AnswerPlan, ResumeTool)
"""Ops that are said to a run in progress and may bring more context for it."""

PASSING = ("budget_reserved", "budget_settled", "message_start", "permission_decided")
"""Events that matter to the fold only for the last messages: what they say of a request or of its
calls is over when the next one has ended. They are half of a log; a fold of history is made without
them."""


class ThreadState(Moving, weakref=True):
    """A thread up to event `seq`."""

    id: str
    thread: Thread | None = None
    seq: int = 0
    messages: list[Message] = msgspec.field(default_factory=list)
    message_seqs: list[int] = msgspec.field(default_factory=list)
    """The event that each message came with."""
    set_aside: list[tuple[list[Message], list[int]]] = msgspec.field(default_factory=list)
    """Messages that were taken back, newest last."""
    inputs: dict[str, Op] = msgspec.field(default_factory=dict)
    mail: dict[str, Mail] = msgspec.field(default_factory=dict)
    """What other agents said and nobody has heard yet, by the input that it came with."""
    run: RunState | None = None
    last_run: RunState | None = None
    mode_id: str | None = None
    models: dict[str, str] = msgspec.field(default_factory=dict)
    """The model of each mode, where the user chose one for the thread."""
    subagent_models: dict[str, str] = msgspec.field(default_factory=dict)
    tasks: tuple[Task, ...] = ()
    plan: Plan | None = None
    grants: list[ev.PermissionGranted] = msgspec.field(default_factory=list)
    usage: Usage = msgspec.field(default_factory=Usage)
    cost_usd: float = 0.0
    rules: tuple[Rule, ...] = ()
    """What the user changed of the rules in this thread."""
    values: dict[str, Any] | None = None
    """The application's state, once it was changed."""
    workspace: tuple[str, str] | None = None
    """What the thread last heard of its workspace: ready and where, or error and why."""
    files: dict[str, None] = msgspec.field(default_factory=dict)
    """What the thread's calls changed, in order."""
    weight: int = 0
    """Characters of all messages: what the estimate of a request's size is made of."""

    @property
    def queued(self) -> int:
        """How many runs wait behind the present one."""
        waiting = sum(isinstance(op, Send) for op in self.inputs.values())
        return waiting if self.run is not None else max(0, waiting - 1)

    def run_named(self, run_id: str) -> RunState | None:
        """The run in progress or the one before it, if that is its name."""
        for run in (self.run, self.last_run):
            if run is not None and run.run_id == run_id:
                return run
        return None

    def take(self, events: Iterable[ev.Event]) -> None:
        """Take into account what of these events is new."""
        for event in events:
            if event.seq > self.seq:  # another task may have folded it first
                self.apply(event)

    def apply(self, event: ev.Event) -> None:
        """Take one more event into account."""
        self.seq = event.seq
        names = getattr(event, "consumes", ())
        consumed = [self.inputs.pop(name, None) for name in names]
        if not is_kept(event):
            for name in names:
                self.mail.pop(name, None)
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)
        for op in consumed:
            if self.run is not None and isinstance(op, TO_A_RUN):
                self.run.values.update(op.context)


def is_kept(event: ev.Event) -> bool:
    """Whether an event deals with a message only so far that it is kept for the next run."""
    return isinstance(event, ev.Noted) and event.code == MAIL_KEPT


def _thread_created(state: ThreadState, event: ev.ThreadCreated) -> None:
    state.thread = event.thread
    facts = facts_of(event.thread)
    if facts is not None:
        state.mode_id = facts.mode
        state.tasks = facts.goals


def _input_admitted(state: ThreadState, event: ev.InputAdmitted) -> None:
    state.inputs[event.input_id] = event.op
    if isinstance(event.op, Deliver):
        state.mail[event.input_id] = event.op.mail


def _run_started(state: ThreadState, event: ev.RunStarted) -> None:
    state.run = RunState(
        run_id=event.run_id or "",
        start=event,
        model_id=event.model_id,
        mode_id=event.mode_id,
        head=event.head,
        values=dict(event.context),
    )


def _run_paused(state: ThreadState, event: ev.RunPaused) -> None:
    run = _run(state)
    run.paused = True
    run.paused_at = event.at


def _run_resumed(state: ThreadState, event: ev.RunResumed) -> None:
    run = _run(state)
    run.paused = False
    run.parked_seconds += seconds_between(run.paused_at, event.at)


def _run_ended(state: ThreadState, event: ev.RunEnded) -> None:
    run = _run(state)
    run.ended = event
    run.request = None
    state.last_run = run
    state.run = None


def _message_started(state: ThreadState, event: ev.MessageStarted) -> None:
    if event.role == "assistant":
        run = _run(state)
        run.request = OpenRequest(event.message_id, run.reservation)


def _message_ended(state: ThreadState, event: ev.MessageEnded) -> None:
    message = event.message
    calls = message.calls
    texts = tuple(canonical(call) for call in calls)
    _add_message(state, message, sum(map(len, texts)))
    if event.run_id is None:  # copied from another thread
        return
    run = _run(state)
    if message.role != "assistant":
        run.trail.clear()
        run.checks.clear()  # what was checked is not what will be there
        run.rounds += message.id.endswith(f".{ROUND}")
        run.retold += message.id.endswith(f".{OUTPUT}")
        return
    run.request = None
    run.last = message
    run.text = message.text or run.text
    run.steps += 1
    run.failures = 0
    run.error = None
    run.calls = []
    run.asked = calls
    run.trail.append(texts)


def _usage_updated(state: ThreadState, event: ev.UsageUpdated) -> None:
    run = _run(state)
    run.usage = run.usage + event.usage
    if not event.estimated:
        run.measured = (event.usage.total_tokens, state.weight)
    run.cost_usd += event.cost_usd
    state.usage = state.usage + event.usage
    state.cost_usd += event.cost_usd


def _budget_reserved(state: ThreadState, event: ev.BudgetReserved) -> None:
    _run(state).reservation = event


def _budget_settled(state: ThreadState, _event: ev.BudgetSettled) -> None:
    run = _run(state)
    run.reservation = None
    run.request = None


def _budget_exhausted(state: ThreadState, event: ev.BudgetExhausted) -> None:
    _run(state).exhausted = event.why


def _error_raised(state: ThreadState, event: ev.ErrorRaised) -> None:
    if state.run is not None:
        state.run.error = event


def _model_retried(state: ThreadState, event: ev.ModelRetried) -> None:
    run = _run(state)
    run.failures = event.attempt
    run.error = None


def _model_fell_back(state: ThreadState, event: ev.ModelFellBack) -> None:
    run = _run(state)
    run.model_id = event.to_model
    run.fallen += 1
    run.failures = 0
    run.error = None


def _mode_changed(state: ThreadState, event: ev.ModeChanged) -> None:
    state.mode_id = event.mode_id
    if state.run is not None:
        state.run.mode_id = event.mode_id


def _model_changed(state: ThreadState, event: ev.ModelChanged) -> None:
    if event.model_id is None:
        return
    if event.scope == "thread":
        state.models[event.mode_id] = event.model_id
    if state.run is not None and state.run.mode_id == event.mode_id:
        state.run.model_id = event.model_id


def _prefix_broken(state: ThreadState, event: ev.PrefixBroken) -> None:
    _run(state).head = event.head


def _subagent_model_changed(state: ThreadState, event: ev.SubagentModelChanged) -> None:
    state.subagent_models[event.agent_type or ""] = event.model_id


def _tasks_updated(state: ThreadState, event: ev.TasksUpdated) -> None:
    state.tasks = event.tasks


def _settings_changed(state: ThreadState, event: ev.SettingsChanged) -> None:
    if event.key == RULES_SETTING:
        state.rules = msgspec.convert(event.value, tuple[Rule, ...])
    elif event.key == PLAN_SETTING:
        state.plan = msgspec.convert(event.value, Plan | None)


def _state_changed(state: ThreadState, event: ev.StateChanged) -> None:
    state.values = event.state


def _workspace_changed(state: ThreadState, _event: ev.WorkspaceStatusChanged) -> None:
    state.workspace = None  # ready and error say more


def _workspace_ready(state: ThreadState, event: ev.WorkspaceReady) -> None:
    state.workspace = ("ready", event.root)


def _workspace_failed(state: ThreadState, event: ev.WorkspaceFailed) -> None:
    state.workspace = ("error", event.error)


def _noted(state: ThreadState, event: ev.Noted) -> None:
    if event.code == "timer_expired" and state.run is not None:
        state.run.expired = True
    if event.code == "stop_when" and state.run is not None:
        state.run.satisfied = True


def _tool_called(state: ThreadState, event: ev.ToolCalled) -> None:
    run = _run(state)
    index = len(run.calls)
    assert index < len(run.asked), "a call follows the message that asks for it"
    stage: CallStage = "held" if event.facts.hooks else "decided"
    call = CallState(run.asked[index], event.facts, index, stage=stage, started_at=event.at)
    run.calls.append(call)
    run.tool_calls += 1
    if not event.facts.read_only:
        run.checks.clear()


def _permission_decided(state: ThreadState, event: ev.PermissionDecided) -> None:
    call = _call(state, event.call_id)
    call.effect = event.effect
    if call.held:
        call.stage = "decided"


def _hook_ran(state: ThreadState, event: ev.HookRan) -> None:
    run = state.run
    if run is None or event.run_id != run.run_id:
        return  # told of something outside a run
    if event.halt and run.halted is None:
        run.halted = event
    if event.moment == "gate" and event.facts is not None and event.call_id is not None:
        _call(state, event.call_id).facts = event.facts
    if event.moment == "closing":
        run.closed = None if event.context else run.steps
        run.kept_on += bool(event.context)
    if event.context and event.moment in ("gate", "closing", "reaction"):
        run.told.append(noted(event.hook, event.context))
        _tell(state, run)


def _tell(state: ThreadState, run: RunState) -> None:
    """Give the model the words of hooks, once nothing stands between a call and its result."""
    if not run.told or run.open_calls or len(run.calls) < len(run.asked):
        return
    name = message_id(run.run_id, run.steps, f"hooks.{state.seq}")
    parts = tuple(Text(text) for text in run.told)
    run.told = []
    run.checks.clear()
    _add_message(state, Message(id=name, role="user", parts=parts))


def _approval_required(state: ThreadState, event: ev.ApprovalRequired) -> None:
    call = _call(state, event.call_id)
    call.stage = "asked"
    call.pending_id = event.approval_id
    call.pending_kind = "approval"


def _approval_answered(state: ThreadState, event: ev.ApprovalAnswered) -> None:
    call = _call(state, event.call_id)
    call.pending_id = None
    call.pending_kind = None
    call.stage = "decided"
    call.effect = "allow" if event.approved else "deny"
    call.resumed = event.data
    call.approved = event.approved
    if event.facts is not None:
        call.facts = event.facts
        if event.approved and event.facts.hooks:  # changed by the user: hooks look at it again
            call.stage = "held"


def _call_suspended(state: ThreadState, event: ev.CallSuspended) -> None:
    call = _call(state, event.call_id)
    call.stage = "suspended"
    call.pending_id = event.pending_id
    call.pending_kind = event.kind
    call.payload = event.payload


def _subagent_started(state: ThreadState, event: ev.SubagentStarted) -> None:
    if event.background:
        _run(state).helpers[event.call_id] = Helper(started=event)
    else:
        _call(state, event.call_id).child = event


def _subagent_ended(state: ThreadState, event: ev.SubagentEnded) -> None:
    helper = _run(state).helpers.get(event.call_id)
    if helper is not None:
        _run(state).helpers[event.call_id] = Helper(started=helper.started, ended=event)


def _tool_returned(state: ThreadState, event: ev.ToolReturned) -> None:
    run = _run(state)
    call = _call(state, event.call_id)
    call.stage = "settled"
    call.result = event
    call.pending_id = None
    if call.pending_kind == "wait" and event.kind != "timeout":
        run.trail.clear()  # to hear from others again and again is no loop
    if call.facts.category == "edit" and not event.is_error:
        run.files.update(dict.fromkeys(call.facts.paths))
        state.files.update(dict.fromkeys(call.facts.paths))
    if len(run.calls) == len(run.asked) and not run.open_calls:
        _add_message(state, _results(run))
        _tell(state, run)


def _check_ended(state: ThreadState, event: ev.CheckEnded) -> None:
    _run(state).checks[event.name] = event


def _permission_granted(state: ThreadState, event: ev.PermissionGranted) -> None:
    state.grants.append(event)


def _lease_taken(state: ThreadState, event: ev.LeaseTaken) -> None:
    """Grants last as long as the process that they were given in."""
    state.grants = [grant for grant in state.grants if grant.owner == event.owner.key]


def canonical(call: ToolCall) -> str:
    """Write a call so that equal calls are equal texts."""
    return f"{call.tool} {msgspec.json.encode(call.args, order='deterministic').decode()}"


def _conversation_rewound(state: ThreadState, event: ev.ConversationRewound) -> None:
    if event.redo:
        if state.set_aside:
            messages, seqs = state.set_aside.pop()
            state.messages += messages
            state.message_seqs += seqs
    else:
        keep = sum(seq <= event.to_seq for seq in state.message_seqs)
        while keep and state.messages[keep - 1].calls:  # a call without its result is no end
            keep -= 1
        state.set_aside.append((state.messages[keep:], state.message_seqs[keep:]))
        del state.messages[keep:], state.message_seqs[keep:]
    state.weight = sum(_weight(part) for message in state.messages for part in message.parts)


def _add_message(state: ThreadState, message: Message, calls_weight: int = 0) -> None:
    if not message.parts:
        return  # cut before its first word: providers refuse a message without content
    state.messages.append(message)
    state.message_seqs.append(state.seq)
    said = sum(_weight(part) for part in message.parts if not isinstance(part, ToolCall))
    state.weight += calls_weight + said


def _weight(part: Part) -> int:
    if isinstance(part, ToolCall):
        return len(canonical(part))
    if isinstance(part, Image | File):
        return len(part.data)
    return len(part.text)


def _results(run: RunState) -> Message:
    """All results of a step, folded by call index whatever order they came in."""
    parts = tuple(
        ToolResult(
            call_id=call.call.id,
            tool=call.call.tool,
            text=call.result.result,
            is_error=call.result.is_error,
            provider_id=call.call.provider_id,
            images=call.result.images,
        )
        for call in run.calls
        if call.result is not None
    )
    return Message(id=message_id(run.run_id, run.steps, "results"), role="tool", parts=parts)


def _run(state: ThreadState) -> RunState:
    assert state.run is not None, "the log speaks of a run that was not started"
    return state.run


def _call(state: ThreadState, call_id: str) -> CallState:
    for call in _run(state).calls:
        if call.call.id == call_id:
            return call
    raise AssertionError(f"the log speaks of a call that was not recorded: {call_id}")


def seconds_between(start: str, end: str) -> float:
    """How long it was between two events."""
    if not start or not end:
        return 0.0
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


_HANDLERS: dict[type[ev.Event], Callable[[ThreadState, Any], None]] = {
    ev.ThreadCreated: _thread_created,
    ev.InputAdmitted: _input_admitted,
    ev.RunStarted: _run_started,
    ev.RunPaused: _run_paused,
    ev.RunResumed: _run_resumed,
    ev.RunEnded: _run_ended,
    ev.MessageStarted: _message_started,
    ev.MessageEnded: _message_ended,
    ev.UsageUpdated: _usage_updated,
    ev.BudgetReserved: _budget_reserved,
    ev.BudgetSettled: _budget_settled,
    ev.BudgetExhausted: _budget_exhausted,
    ev.ErrorRaised: _error_raised,
    ev.ModeChanged: _mode_changed,
    ev.ModelChanged: _model_changed,
    ev.PrefixBroken: _prefix_broken,
    ev.TasksUpdated: _tasks_updated,
    ev.SubagentModelChanged: _subagent_model_changed,
    ev.SettingsChanged: _settings_changed,
    ev.StateChanged: _state_changed,
    ev.ConversationRewound: _conversation_rewound,
    ev.ModelRetried: _model_retried,
    ev.ModelFellBack: _model_fell_back,
    ev.Noted: _noted,
    ev.ToolCalled: _tool_called,
    ev.PermissionDecided: _permission_decided,
    ev.ApprovalRequired: _approval_required,
    ev.ApprovalAnswered: _approval_answered,
    ev.CallSuspended: _call_suspended,
    ev.SubagentStarted: _subagent_started,
    ev.SubagentEnded: _subagent_ended,
    ev.ToolReturned: _tool_returned,
    ev.HookRan: _hook_ran,
    ev.CheckEnded: _check_ended,
    ev.PermissionGranted: _permission_granted,
    ev.LeaseTaken: _lease_taken,
    ev.WorkspaceStatusChanged: _workspace_changed,
    ev.WorkspaceReady: _workspace_ready,
    ev.WorkspaceFailed: _workspace_failed,
}
