"""What an answer does to the call that waits for it: the events that follow, and nothing else.

A run that waits for nobody never needs this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from bridle.agent.steering import mode_switch, noted
from bridle.gate.batch import runnable
from bridle.gate.decide import decided, denial, failure, terms_of
from bridle.journal.waits import ended_waits
from bridle.types import events as ev
from bridle.types.agents import with_meta
from bridle.types.base import Fixed
from bridle.types.ops import (
    Answer,
    Answering,
    AnswerPlan,
    Approve,
    Decline,
    Expire,
    ResumeTool,
    Settle,
)
from bridle.types.tools import Failed

if TYPE_CHECKING:
    from bridle.gate.batch import Concurrency
    from bridle.gate.decide import Decider
    from bridle.journal.calls import CallState
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.types.tools import CallFacts

_AWAITED: dict[type, str] = {
    Approve: "approval",
    Decline: "approval",
    Answer: "question",
    AnswerPlan: "plan",
    ResumeTool: "tool",
}
"""What a call waits for that such an op answers."""


class Reply(Fixed, frozen=True, kw_only=True):
    """One input that answers a call; an answer that nothing waits for is only noted."""

    state: ThreadState
    run: RunState
    decider: Decider
    owner: str
    input_id: str

    def events(self, op: Answering) -> list[ev.Event]:
        """What follows from the answer."""
        if isinstance(op, Settle):
            return self._child_settled(op)
        if isinstance(op, Expire):
            return self._expired(op)
        call = next((c for c in self.run.open_calls if c.pending_id == op.id), None)
        if call is None or call.pending_kind != _AWAITED[type(op)]:
            return [self._noted("late_answer", f"Nothing waits for an answer to {op.id}.")]
        match op:
            case Approve():
                return self._approved(call, op)
            case Decline():
                return self._declined(call, op)
            case Answer():
                return self._answered(call, op)
            case AnswerPlan():
                return self._reviewed(call, op)
            case ResumeTool():
                return [self._approval(call, approved=True, data=op.data)]
            case other:
                assert_never(other)

    def _noted(self, code: str, text: str) -> ev.Noted:
        return noted(self.run.run_id, self.input_id, code, text)

    def _approved(self, call: CallState, op: Approve) -> list[ev.Event]:
        if op.args is not None:
            return self._edited(call, op, op.args)
        return [self._approval(call, approved=True, always=op.always), *self._grants(call, op)]

    def _edited(self, call: CallState, op: Approve, args: dict[str, Any]) -> list[ev.Event]:
        """Changed arguments are validated and decided from the start; a deny beats the approval."""
        run_id = self.run.run_id
        changed = msgspec.structs.replace(call.call, args=args, invalid=None)
        terms = terms_of(self.state.grants, self.state.rules)
        facts, decision = self.decider.again(changed, terms)
        if decision is None:
            problem = facts.problem or "The changed arguments are not valid."
            return [
                self._approval(call, approved=False, facts=facts),
                failure(run_id, call.call, problem, kind=facts.problem_kind),
            ]
        events: list[ev.Event] = [] if facts.hooks else [decided(run_id, call.call, decision)]
        if not facts.hooks and decision.effect == "deny":
            refused = self._approval(call, approved=False, facts=facts)
            return [*events, refused, denial(run_id, call.call, decision)]
        facts = msgspec.structs.replace(facts, args=args if facts.args is None else facts.args)
        approved = self._approval(call, approved=True, always=op.always, facts=facts)
        return [*events, approved, *self._grants(call, op)]

    def _grants(self, call: CallState, op: Approve) -> list[ev.Event]:
        if op.always is None:
            return []
        matches = {
            "category": (call.facts.category,),
            "tool": (call.call.tool,),
            "pattern": self.decider.patterns(call.call, call.facts),
        }[op.always]
        run_id = self.run.run_id
        return [
            ev.PermissionGranted(run_id=run_id, scope=op.always, matches=what, owner=self.owner)
            for what in matches
        ]

    def _declined(self, call: CallState, op: Decline) -> list[ev.Event]:
        why = f": {op.reason}" if op.reason else ""
        return [
            self._approval(call, approved=False, reason=op.reason),
            ev.ToolReturned(
                run_id=self.run.run_id,
                call_id=call.call.id,
                tool=call.call.tool,
                result=f"The user declined this call{why}.",
                is_error=True,
                denied=True,
                kind="declined",
            ),
        ]

    def _approval(
        self,
        call: CallState,
        *,
        approved: bool,
        always: str | None = None,
        reason: str | None = None,
        facts: CallFacts | None = None,
        data: Any = None,
    ) -> ev.ApprovalAnswered:
        return ev.ApprovalAnswered(
            run_id=self.run.run_id,
            approval_id=call.pending_id or "",
            call_id=call.call.id,
            consumes=(self.input_id,),
            approved=approved,
            always=always,
            reason=reason,
            facts=facts,
            data=data,
        )

    def _answered(self, call: CallState, op: Answer) -> list[ev.Event]:
        text = op.answer if isinstance(op.answer, str) else ", ".join(op.answer)
        return [
            ev.QuestionAnswered(
                run_id=self.run.run_id, question_id=op.id, call_id=call.call.id, answer=op.answer
            ),
            self._result(call, f"The user answered: {text}"),
        ]

    def _reviewed(self, call: CallState, op: AnswerPlan) -> list[ev.Event]:
        run = self.run
        if not op.approved:
            why = f" Their feedback: {op.feedback}" if op.feedback else ""
            text = f"The user wants another plan.{why} Revise it and submit it again."
            return [
                ev.PlanRejected(
                    run_id=run.run_id, plan_id=op.id, call_id=call.call.id, feedback=op.feedback
                ),
                self._result(call, text),
            ]
        events: list[ev.Event] = [
            ev.PlanApproved(run_id=run.run_id, plan_id=op.id, call_id=call.call.id)
        ]
        if op.mode_id is not None and op.mode_id != run.mode_id:
            previous = self.state.mode_id or run.mode_id
            events += mode_switch(op.mode_id, op.model_id, previous, run_id=run.run_id)
        events.append(self._result(call, "The user approved the plan. Carry it out now."))
        return events

    def _result(self, call: CallState, text: str) -> ev.ToolReturned:
        return ev.ToolReturned(
            run_id=self.run.run_id,
            call_id=call.call.id,
            tool=call.call.tool,
            result=text,
            consumes=(self.input_id,),
        )

    def _child_settled(self, op: Settle) -> list[ev.Event]:
        """A child's end: its call's outcome, or the end of calls that wait for it."""
        run = self.run
        helper = run.helpers.get(op.call_id)
        if helper is not None and helper.ended is None:
            ended = _child_ended(run, helper.started, op, (self.input_id,))
            return [ended, *ended_waits(run, self.state.mail, [ended])]
        call = next((c for c in run.open_calls if c.call.id == op.call_id), None)
        if call is None or call.stage != "suspended":
            return [self._noted("late_result", f"Call {op.call_id} is over already.")]
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
                is_error=isinstance(op.outcome, Failed),
                kind=op.outcome.kind if isinstance(op.outcome, Failed) else None,
                duration_ms=op.duration_ms,
                consumes=(self.input_id,),
            )
        )
        return events

    def _expired(self, op: Expire) -> list[ev.Event]:
        """A wait whose time has passed."""
        found = ended_waits(
            self.run, self.state.mail, expired=op.call_id, consumes=(self.input_id,)
        )
        if any(isinstance(end, ev.ToolReturned) and end.call_id == op.call_id for end in found):
            return found
        return [*found, self._noted("late_timer", f"Call {op.call_id} is over.")]


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
