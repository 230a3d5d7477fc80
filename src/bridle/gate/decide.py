"""Decide a batch of calls as a whole: what is recorded about each before any of them acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridle.types.events import (
    ApprovalRequired,
    Event,
    PermissionDecided,
    PermissionGranted,
    ToolCalled,
    ToolReturned,
)
from bridle.types.ids import derive_id
from bridle.types.permissions import Decision, Grants, Policy
from bridle.types.tools import CallFacts

if TYPE_CHECKING:
    from bridle.ports.tools import Toolbox
    from bridle.types.content import ToolCall

Evaluate = Callable[[str, CallFacts, Policy, Grants], Decision]
Card = Callable[[str, CallFacts, dict[str, Any], Decision], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Turns calls into events by the rules of one run."""

    toolbox: Toolbox
    policy: Policy
    evaluate: Evaluate
    card: Card

    def batch(
        self, run_id: str, calls: Sequence[ToolCall], grants: Grants, *, room: int | None
    ) -> list[Event]:
        """Describe and decide every call; `room` is how many more calls the run may make."""
        events: list[Event] = []
        for index, call in enumerate(calls):
            facts = self.toolbox.describe(call)
            events.append(
                ToolCalled(
                    run_id=run_id, call_id=call.id, tool=call.tool, args=call.args, facts=facts
                )
            )
            if facts.problem is not None:
                events.append(failure(run_id, call, facts.problem, kind=facts.problem_kind))
            elif room is not None and index >= room:
                text = "Not run: the run has used up its tool calls."
                events.append(failure(run_id, call, text, kind="limit"))
            else:
                events.extend(self._decided(run_id, call, facts, grants))
        return events

    def again(self, call: ToolCall, grants: Grants) -> tuple[CallFacts, Decision | None]:
        """Describe and decide a call with changed arguments, from the start."""
        facts = self.toolbox.describe(call)
        if facts.problem is not None:
            return facts, None
        return facts, self.evaluate(call.tool, facts, self.policy, grants)

    def _decided(
        self, run_id: str, call: ToolCall, facts: CallFacts, grants: Grants
    ) -> list[Event]:
        decision = self.evaluate(call.tool, facts, self.policy, grants)
        recorded = decided(run_id, call, decision)
        if decision.effect == "deny":
            return [recorded, denial(run_id, call, decision)]
        if decision.effect == "ask":
            asked = ApprovalRequired(
                run_id=run_id,
                approval_id=derive_id("apr", call.id),
                call_id=call.id,
                tool=call.tool,
                args=facts.args or call.args,
                card=self.card(call.tool, facts, call.args, decision),
            )
            return [recorded, asked]
        return [recorded]


def decided(run_id: str, call: ToolCall, decision: Decision) -> PermissionDecided:
    """The record of a decision, with everything that was asked on the way to it."""
    return PermissionDecided(
        run_id=run_id,
        call_id=call.id,
        tool=call.tool,
        effect=decision.effect,
        rule=decision.rule,
        layer=decision.layer,
        source=decision.source,
        reason=decision.reason,
        trace=decision.trace,
    )


def failure(run_id: str, call: ToolCall, text: str, *, kind: str) -> ToolReturned:
    """The result of a call that could not run."""
    return ToolReturned(
        run_id=run_id, call_id=call.id, tool=call.tool, result=text, is_error=True, kind=kind
    )


def denial(run_id: str, call: ToolCall, decision: Decision) -> ToolReturned:
    """The result of a call that may not run."""
    return ToolReturned(
        run_id=run_id,
        call_id=call.id,
        tool=call.tool,
        result=f"Denied by {decision.rule}: {decision.reason}. Do not try the same call again.",
        is_error=True,
        denied=True,
        kind="denied",
    )


def granted(grants: Sequence[PermissionGranted]) -> Grants:
    """Collect the grants that are in force."""
    by_scope: dict[str, set[str]] = {"category": set(), "tool": set(), "pattern": set()}
    for grant in grants:
        by_scope[grant.scope].add(grant.matches)
    return Grants(
        categories=frozenset(by_scope["category"]),
        tools=frozenset(by_scope["tool"]),
        patterns=frozenset(by_scope["pattern"]),
    )
