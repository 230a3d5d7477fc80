"""How events of calls, and of what they start, change their thread's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.journal.calls import CallStage, CallState
from bridle.journal.folding import add_message, call_of, results_of, run_of
from bridle.ports.tools import Helper
from bridle.types import events as ev
from bridle.types.content import Text
from bridle.types.hooks import noted
from bridle.types.ids import message_id
from bridle.types.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState


def _tool_called(state: ThreadState, event: ev.ToolCalled) -> None:
    run = run_of(state)
    index = len(run.calls)
    assert index < len(run.asked), "a call follows the message that asks for it"
    stage: CallStage = "held" if event.facts.hooks else "decided"
    call = CallState(run.asked[index], event.facts, index, stage=stage, started_at=event.at)
    run.calls.append(call)
    run.tool_calls += 1
    if not event.facts.read_only:
        run.checks.clear()


def _permission_decided(state: ThreadState, event: ev.PermissionDecided) -> None:
    call = call_of(state, event.call_id)
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
        call_of(state, event.call_id).facts = event.facts
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
    add_message(state, Message(id=name, role="user", parts=parts))


def _approval_required(state: ThreadState, event: ev.ApprovalRequired) -> None:
    call = call_of(state, event.call_id)
    call.stage = "asked"
    call.pending_id = event.approval_id
    call.pending_kind = "approval"


def _approval_answered(state: ThreadState, event: ev.ApprovalAnswered) -> None:
    call = call_of(state, event.call_id)
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
    call = call_of(state, event.call_id)
    call.stage = "suspended"
    call.pending_id = event.pending_id
    call.pending_kind = event.kind
    call.payload = event.payload


def _subagent_started(state: ThreadState, event: ev.SubagentStarted) -> None:
    if event.background:
        run_of(state).helpers[event.call_id] = Helper(started=event)
    else:
        call_of(state, event.call_id).child = event


def _subagent_ended(state: ThreadState, event: ev.SubagentEnded) -> None:
    helper = run_of(state).helpers.get(event.call_id)
    if helper is not None:
        run_of(state).helpers[event.call_id] = Helper(started=helper.started, ended=event)


def _tool_returned(state: ThreadState, event: ev.ToolReturned) -> None:
    run = run_of(state)
    call = call_of(state, event.call_id)
    call.stage = "settled"
    call.result = event
    call.pending_id = None
    if call.pending_kind == "wait" and event.kind != "timeout":
        run.trail.clear()  # to hear from others again and again is no loop
    if call.facts.category == "edit" and not event.is_error:
        run.files.update(dict.fromkeys(call.facts.paths))
        state.files.update(dict.fromkeys(call.facts.paths))
    if len(run.calls) == len(run.asked) and not run.open_calls:
        add_message(state, results_of(run))
        if run.told:
            _tell(state, run)


CALLS: dict[type[ev.Event], Callable[[ThreadState, Any], None]] = {
    ev.ToolCalled: _tool_called,
    ev.PermissionDecided: _permission_decided,
    ev.ApprovalRequired: _approval_required,
    ev.ApprovalAnswered: _approval_answered,
    ev.CallSuspended: _call_suspended,
    ev.SubagentStarted: _subagent_started,
    ev.SubagentEnded: _subagent_ended,
    ev.ToolReturned: _tool_returned,
    ev.HookRan: _hook_ran,
}
