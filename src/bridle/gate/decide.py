"""Decide a batch of calls as a whole: what is recorded about each before any of them acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.journal.redact import NOTHING_HIDDEN, Redactor
from bridle.permissions.call import prepare
from bridle.permissions.suggest import patterns_for
from bridle.types.base import Fixed
from bridle.types.content import ToolCall
from bridle.types.events import (
    ApprovalRequired,
    Event,
    PermissionDecided,
    PermissionGranted,
    ToolCalled,
    ToolReturned,
)
from bridle.types.ids import derive_id
from bridle.types.permissions import Decision, Grants, Policy, Rule
from bridle.types.tools import CallFacts

if TYPE_CHECKING:
    from bridle.ports.tools import Toolbox

Evaluate = Callable[[str, CallFacts, Policy, Grants], Decision]
Card = Callable[[ToolCall, CallFacts, Decision, Policy], dict[str, Any]]


class Terms(Fixed, frozen=True, kw_only=True):
    """What the user said beside the policy: rules of the thread, grants of the session."""

    rules: tuple[Rule, ...] = ()
    grants: Grants = msgspec.field(default_factory=Grants)


class Decider(Fixed, frozen=True, kw_only=True):
    """Turns calls into events by the rules of one run."""

    toolbox: Toolbox
    policy: Policy
    evaluate: Evaluate
    card: Card
    redactor: Redactor = NOTHING_HIDDEN

    def batch(
        self, run_id: str, calls: Sequence[ToolCall], terms: Terms, *, room: int | None
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
                events.extend(self._decided(run_id, call, facts, terms))
        return events

    def again(self, call: ToolCall, terms: Terms) -> tuple[CallFacts, Decision | None]:
        """Describe and decide a call with changed arguments, from the start."""
        facts = self.toolbox.describe(call)
        if facts.problem is not None:
            return facts, None
        return facts, self._decide(call, facts, terms)

    def patterns(self, call: ToolCall, facts: CallFacts) -> tuple[str, ...]:
        """The patterns that would match calls like this one."""
        whole = msgspec.structs.replace(facts, args=facts.args or call.args)
        return patterns_for(prepare(call.tool, whole, self.policy, Grants()))

    def _decide(self, call: ToolCall, facts: CallFacts, terms: Terms) -> Decision:
        policy = self.policy
        if terms.rules:  # what the user changed in this thread stands before what was written
            policy = msgspec.structs.replace(policy, rules=(*terms.rules, *policy.rules))
        if facts.args is None:
            facts = msgspec.structs.replace(facts, args=call.args)
        return self.evaluate(call.tool, facts, policy, terms.grants)

    def _decided(self, run_id: str, call: ToolCall, facts: CallFacts, terms: Terms) -> list[Event]:
        decision = self._decide(call, facts, terms)
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
                card=self.redactor.value(self.card(call, facts, decision, self.policy)),
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
    why = f": {decision.reason}" if decision.reason else ""
    return ToolReturned(
        run_id=run_id,
        call_id=call.id,
        tool=call.tool,
        result=f"Denied by {decision.rule}{why}. Do not try the same call again.",
        is_error=True,
        denied=True,
        kind="denied",
    )


def terms_of(grants: Sequence[PermissionGranted], rules: tuple[Rule, ...]) -> Terms:
    """Collect what the user said in this thread and this session."""
    by_scope: dict[str, set[str]] = {"category": set(), "tool": set(), "pattern": set()}
    for grant in grants:
        by_scope[grant.scope].add(grant.matches)
    return Terms(
        rules=rules,
        grants=Grants(
            categories=frozenset(by_scope["category"]),
            tools=frozenset(by_scope["tool"]),
            patterns=frozenset(by_scope["pattern"]),
        ),
    )
