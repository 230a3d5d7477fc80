"""What the ops in the inbox do to a run: pure functions from an op to the events that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.gate.batch import runnable
from bridle.gate.decide import decided, denial, failure, terms_of
from bridle.gate.run import interrupted
from bridle.journal.children import interrupt
from bridle.journal.state import MAIL_KEPT
from bridle.journal.waits import ended_waits
from bridle.types import events as ev
from bridle.types.agents import with_meta
from bridle.types.content import Text
from bridle.types.hooks import halted, heard
from bridle.types.ids import derive_id, message_id
from bridle.types.messages import Message
from bridle.types.ops import (
    Answer,
    AnswerPlan,
    Approve,
    Decline,
    Deliver,
    Expire,
    Grant,
    Op,
    Pin,
    ResumeTool,
    Send,
    Settle,
    Steer,
    SwitchMode,
    SwitchModel,
)
from bridle.types.tools import CallFacts, Failed

if TYPE_CHECKING:
    from bridle.agent.setup import RunSetup
    from bridle.gate.batch import Concurrency
    from bridle.journal.calls import CallState
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.ports.store import Append
    from bridle.types.agents import Mail
    from bridle.types.tools import CallFacts


def answered(
    state: ThreadState,
    run: RunState,
    op: Approve | Decline,
    input_id: str,
    setup: RunSetup,
    owner: str,
) -> list[ev.Event]:
    """The events of an answer to an approval; an answer that nothing waits for is only noted."""
    call = waiting_call(run, op.id)
    if call is None or call.pending_kind != "approval":
        return [
            noted(run.run_id, input_id, "late_answer", f"Nothing waits for an answer to {op.id}.")
        ]
    if isinstance(op, Decline):
        return _declined(run, call, op, input_id)
    if op.args is not None:
        return _edited(state, run, call, op, input_id, setup, owner)
    approved = _approval(run, call, op.id, (input_id,), approved=True, always=op.always)
    return [approved, *_grant(run, call, op, owner, setup)]


def _edited(
    state: ThreadState,
    run: RunState,
    call: CallState,
    op: Approve,
    input_id: str,
    setup: RunSetup,
    owner: str,
) -> list[ev.Event]:
    """Changed arguments are validated and decided from the start; a deny beats the approval."""
    args = op.args or {}
    changed = msgspec.structs.replace(call.call, args=args, invalid=None)
    facts, decision = setup.decider.again(changed, terms_of(state.grants, state.rules))
    if decision is None:
        refused = _approval(run, call, op.id, (input_id,), approved=False, facts=facts)
        problem = facts.problem or "The changed arguments are not valid."
        return [refused, failure(run.run_id, call.call, problem, kind=facts.problem_kind)]
    events: list[ev.Event] = [] if facts.hooks else [decided(run.run_id, call.call, decision)]
    if not facts.hooks and decision.effect == "deny":
        refused = _approval(run, call, op.id, (input_id,), approved=False, facts=facts)
        return [*events, refused, denial(run.run_id, call.call, decision)]
    facts = msgspec.structs.replace(facts, args=args if facts.args is None else facts.args)
    approved = _approval(
        run, call, op.id, (input_id,), approved=True, always=op.always, facts=facts
    )
    return [*events, approved, *_grant(run, call, op, owner, setup)]


def _grant(
    run: RunState, call: CallState, op: Approve, owner: str, setup: RunSetup
) -> list[ev.Event]:
    if op.always is None:
        return []
    matches = {
        "category": (call.facts.category,),
        "tool": (call.call.tool,),
        "pattern": setup.decider.patterns(call.call, call.facts),
    }[op.always]
    return [
        ev.PermissionGranted(run_id=run.run_id, scope=op.always, matches=what, owner=owner)
        for what in matches
    ]


def _approval(
    run: RunState,
    call: CallState,
    approval_id: str,
    consumes: tuple[str, ...],
    *,
    approved: bool,
    always: str | None = None,
    reason: str | None = None,
    facts: CallFacts | None = None,
    data: Any = None,
) -> ev.ApprovalAnswered:
    return ev.ApprovalAnswered(
        run_id=run.run_id,
        approval_id=approval_id,
        call_id=call.call.id,
        consumes=consumes,
        approved=approved,
        always=always,
        reason=reason,
        facts=facts,
        data=data,
    )


def _declined(run: RunState, call: CallState, op: Decline, input_id: str) -> list[ev.Event]:
    why = f": {op.reason}" if op.reason else ""
    return [
        _approval(run, call, op.id, (input_id,), approved=False, reason=op.reason),
        ev.ToolReturned(
            run_id=run.run_id,
            call_id=call.call.id,
            tool=call.call.tool,
            result=f"The user declined this call{why}.",
            is_error=True,
            denied=True,
            kind="declined",
        ),
    ]


def replied(
    run: RunState, op: Answer | AnswerPlan | ResumeTool, input_id: str, previous_mode: str | None
) -> list[ev.Event]:
    """The events of an answer to a question, a plan, or a tool that waits."""
    call = waiting_call(run, op.id)
    wanted = {Answer: "question", AnswerPlan: "plan", ResumeTool: "tool"}[type(op)]
    if call is None or call.pending_kind != wanted:
        return [
            noted(run.run_id, input_id, "late_answer", f"Nothing waits for an answer to {op.id}.")
        ]
    match op:
        case Answer():
            return _answered_question(run, call, op, input_id)
        case AnswerPlan():
            return _answered_plan(run, call, op, input_id, previous_mode)
        case ResumeTool():
            return [_approval(run, call, op.id, (input_id,), approved=True, data=op.data)]


def _answered_question(run: RunState, call: CallState, op: Answer, input_id: str) -> list[ev.Event]:
    text = op.answer if isinstance(op.answer, str) else ", ".join(op.answer)
    return [
        ev.QuestionAnswered(
            run_id=run.run_id, question_id=op.id, call_id=call.call.id, answer=op.answer
        ),
        _result(run, call, f"The user answered: {text}", input_id),
    ]


def _answered_plan(
    run: RunState, call: CallState, op: AnswerPlan, input_id: str, previous_mode: str | None
) -> list[ev.Event]:
    if not op.approved:
        why = f" Their feedback: {op.feedback}" if op.feedback else ""
        return [
            ev.PlanRejected(
                run_id=run.run_id, plan_id=op.id, call_id=call.call.id, feedback=op.feedback
            ),
            _result(
                run,
                call,
                f"The user wants another plan.{why} Revise it and submit it again.",
                input_id,
            ),
        ]
    events: list[ev.Event] = [
        ev.PlanApproved(run_id=run.run_id, plan_id=op.id, call_id=call.call.id)
    ]
    if op.mode_id is not None and op.mode_id != run.mode_id:
        events += mode_switch(op.mode_id, op.model_id, previous_mode, run_id=run.run_id)
    events.append(_result(run, call, "The user approved the plan. Carry it out now.", input_id))
    return events


def mode_switch(
    mode_id: str,
    model_id: str | None,
    previous: str | None,
    *,
    run_id: str | None = None,
    consumes: tuple[str, ...] = (),
) -> list[ev.Event]:
    """The events of a change of mode, in their order."""
    events: list[ev.Event] = [
        ev.ModeChanged(run_id=run_id, mode_id=mode_id, previous_mode_id=previous, consumes=consumes)
    ]
    if model_id is not None:
        events.append(
            ev.ModelChanged(run_id=run_id, model_id=model_id, scope="mode", mode_id=mode_id)
        )
    return events


def idle_events(state: ThreadState, op: Op, input_id: str, owner: str) -> list[ev.Event]:
    """What an op does to a thread without a run; nothing when it needs one."""
    match op:
        case SwitchMode():
            previous = state.mode_id or op.previous_mode_id
            return mode_switch(op.mode_id, op.model_id, previous, consumes=(input_id,))
        case SwitchModel():
            return [switched_model(op, input_id)]
        case Grant():
            return [grant_given(op, input_id, owner)]
        case Deliver(mail=mail):
            text = f"A message from {mail.name} is kept for the next run."
            return [noted(None, input_id, MAIL_KEPT, text)]
        case Pin():
            return [pinned(op, input_id)]
        case _:
            return []


def switched_model(op: SwitchModel, input_id: str) -> ev.Event:
    """The event of another model for a mode."""
    return ev.ModelChanged(
        model_id=op.model_id, scope=op.scope, mode_id=op.mode_id, consumes=(input_id,)
    )


def grant_given(op: Grant, input_id: str, owner: str) -> ev.Event:
    """The event of something that the user allowed without being asked."""
    return ev.PermissionGranted(
        scope=op.scope, matches=op.matches, owner=owner, consumes=(input_id,)
    )


def _result(run: RunState, call: CallState, text: str, input_id: str) -> ev.ToolReturned:
    return ev.ToolReturned(
        run_id=run.run_id,
        call_id=call.call.id,
        tool=call.call.tool,
        result=text,
        consumes=(input_id,),
    )


def settled(state: ThreadState, run: RunState, op: Settle, input_id: str) -> list[ev.Event]:
    """The events of a child's end: its call's outcome, or the end of calls that wait for it."""
    helper = run.helpers.get(op.call_id)
    if helper is not None and helper.ended is None:
        ended = _child_ended(run, helper.started, op, (input_id,))
        return [ended, *ended_waits(run, state.mail, [ended])]
    call = next((c for c in run.open_calls if c.call.id == op.call_id), None)
    if call is None or call.stage != "suspended":
        return [noted(run.run_id, input_id, "late_result", f"Call {op.call_id} is over already.")]
    failed = isinstance(op.outcome, Failed)
    events: list[ev.Event] = []
    if call.child is not None:
        events.append(_child_ended(run, call.child, op, ()))
    text = op.outcome.text if op.meta is None else with_meta(op.outcome.text, op.meta)
    events.append(
        ev.ToolReturned(
            run_id=run.run_id,
            call_id=op.call_id,
            tool=call.call.tool,
            result=text,
            is_error=failed,
            kind=op.outcome.kind if isinstance(op.outcome, Failed) else None,
            duration_ms=op.duration_ms,
            consumes=(input_id,),
        )
    )
    return events


def _child_ended(
    run: RunState, child: ev.SubagentStarted, op: Settle, consumes: tuple[str, ...]
) -> ev.SubagentEnded:
    return ev.SubagentEnded(
        run_id=run.run_id,
        call_id=op.call_id,
        agent_type=child.agent_type,
        result=op.outcome.text,
        is_error=isinstance(op.outcome, Failed),
        duration_ms=op.duration_ms,
        tool_calls=op.tool_calls,
        head=op.head,
        meta=op.meta,
        consumes=consumes,
    )


def expired(state: ThreadState, run: RunState, op: Expire, input_id: str) -> list[ev.Event]:
    """The events of a wait whose time has passed."""
    found = ended_waits(run, state.mail, expired=op.call_id, consumes=(input_id,))
    if any(isinstance(end, ev.ToolReturned) and end.call_id == op.call_id for end in found):
        return found
    return [*found, noted(run.run_id, input_id, "late_timer", f"Call {op.call_id} is over.")]


def resumed(run: RunState, events: list[ev.Event], bounds: Concurrency) -> list[ev.Event]:
    """A parked run goes on in the commit of the answer that lets it.

    Apart from it, a crash in between would leave a run that waits for nothing.
    """
    if not run.paused:
        return []
    calls = {call.call.id: msgspec.structs.replace(call) for call in run.calls}
    for event in events:
        match event:
            case ev.ToolReturned():
                calls[event.call_id].stage = "settled"
            case ev.ApprovalAnswered(approved=True):
                looked_at = event.facts is not None and bool(event.facts.hooks)
                calls[event.call_id].stage = "held" if looked_at else "decided"
            case _:
                pass
    after = list(calls.values())
    free = any(call.held for call in after) or bool(runnable(after, bounds))
    goes_on = free or all(call.settled for call in after)
    return [ev.RunResumed(run_id=run.run_id)] if goes_on else []


def stopped_calls(run: RunState, why: str, *, kind: str = "interrupted") -> list[ev.Event]:
    """One result for every call that is still open; what was asked is declined."""
    events: list[ev.Event] = []
    for call in run.open_calls:
        if call.stage == "asked":
            approval_id = call.pending_id or ""
            events.append(_approval(run, call, approval_id, (), approved=False, reason=why))
        events.append(interrupted(run.run_id, call, why, kind=kind))
    return events


def child_interrupts(run: RunState) -> tuple[Append, ...]:
    """What ends the children that still work: they do not outlive the run that they work for."""
    return tuple(
        interrupt(child, input_id=f"{child.call_id}.interrupt") for child in run.open_children
    )


def pinned(op: Pin, input_id: str) -> ev.MessageEnded:
    """What is pinned between runs."""
    message = Message(id=derive_id("pin", input_id), role="user", parts=(Text(op.text),))
    return ev.MessageEnded(message=message, consumes=(input_id,))


def steered(
    run: RunState, op: Steer | Pin, input_id: str, rans: tuple[ev.HookRan, ...] = ()
) -> list[ev.Event]:
    """The events of a steer or a pin that the next request hears, unless a hook ends the run."""
    if isinstance(op, Pin):
        end = msgspec.structs.replace(pinned(op, input_id), run_id=run.run_id)
        name = end.message.id
        return [ev.MessageStarted(run_id=run.run_id, message_id=name, role="user"), end]
    name = f"{run.run_id}.{input_id}"
    halt = halted(rans)
    if halt is not None:
        told = halt.reason or "a hook blocked it"
        return [*rans, noted(run.run_id, input_id, "blocked_input", told)]
    message = Message(id=name, role="user", parts=heard(op.parts, rans))
    return [
        *rans,
        ev.MessageStarted(run_id=run.run_id, message_id=name, role="user"),
        ev.MessageEnded(run_id=run.run_id, message=message, consumes=(input_id,)),
    ]


def mailed(run_id: str, mail: Mail, input_id: str) -> list[ev.Event]:
    """The events of a message from another agent that is heard by the next request."""
    name = f"{run_id}.{input_id}"
    text = f"Message from agent {mail.name} ({mail.sender}), to {mail.to}:\n{mail.text}"
    message = Message(id=name, role="user", parts=(Text(text),))
    return [
        ev.MessageStarted(run_id=run_id, message_id=name, role="user"),
        ev.MessageEnded(run_id=run_id, message=message, consumes=(input_id,)),
    ]


def opening(op: Send, rans: tuple[ev.HookRan, ...] = ()) -> tuple[ev.Event, ...]:
    """The user's message that a run begins with; a message that a hook blocks is not kept."""
    if halted(rans) is not None:
        return rans
    name = message_id(op.run_id, 0, "input")
    message = Message(id=name, role="user", parts=heard(op.parts, rans))
    return (
        *rans,
        ev.MessageStarted(run_id=op.run_id, message_id=name, role="user"),
        ev.MessageEnded(run_id=op.run_id, message=message),
    )


def waiting_call(run: RunState, pending_id: str) -> CallState | None:
    """The call that waits for this answer."""
    return next((c for c in run.open_calls if c.pending_id == pending_id), None)


def noted(run_id: str | None, input_id: str, code: str, text: str) -> ev.Noted:
    """Deal with an input that changes nothing, and say so."""
    return ev.Noted(run_id=run_id, code=code, text=text, consumes=(input_id,))
