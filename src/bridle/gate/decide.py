"""Decide a batch of calls as a whole: what is recorded about each before any of them acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.journal.redact import NOTHING_HIDDEN, Redactor
from bridle.permissions.call import prepare
from bridle.permissions.suggest import always_patterns
from bridle.types.base import Fixed
from bridle.types.content import ToolCall
from bridle.types.events import (
    ApprovalRequired,
    Event,
    HookRan,
    Noted,
    PermissionDecided,
    PermissionGranted,
    ToolCalled,
    ToolReturned,
)
from bridle.types.hooks import concluded
from bridle.types.ids import derive_id
from bridle.types.permissions import Decision, Grants, HookVerdict, Policy, Rule
from bridle.types.tools import CallFacts

if TYPE_CHECKING:
    from bridle.journal.calls import CallState
    from bridle.ports.tools import Toolbox

Evaluate = Callable[[str, CallFacts, Policy, Grants, HookVerdict | None], Decision]
Marks = Callable[[ToolCall, CallFacts], tuple[str, ...]]
Card = Callable[[ToolCall, CallFacts, Decision, Policy], dict[str, Any]]

TOLD = 200

_MOST = HookVerdict(effect="allow")
"""The most that a hook can say for a call."""


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
    marks: Marks | None = None
    redactor: Redactor = NOTHING_HIDDEN

    def batch(
        self, run_id: str, calls: Sequence[ToolCall], terms: Terms, *, room: int | None
    ) -> list[Event]:
        """Describe and decide every call; `room` is how many more calls the run may make."""
        events: list[Event] = []
        for index, call in enumerate(calls):
            facts = self._marked(call, self.toolbox.describe(call), terms)
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
            elif not facts.hooks:  # else it is decided when they were asked
                decision = self.judge(call, facts, None, terms)
                events.extend(self._decided(run_id, call, facts, decision))
        return events

    def again(self, call: ToolCall, terms: Terms) -> tuple[CallFacts, Decision | None]:
        """Describe and decide a call with changed arguments, from the start."""
        facts = self._marked(call, self.toolbox.describe(call), terms)
        if facts.problem is not None:
            return facts, None
        return facts, self.judge(call, facts, None, terms)

    def held(
        self, run_id: str, state: CallState, rans: Sequence[HookRan], terms: Terms
    ) -> list[Event]:
        """Decide a call that hooks were asked about; what somebody approved is not asked again."""
        facts, verdict = concluded(rans, state.facts)
        if facts.problem is not None:
            told = f"A hook changed the arguments: {facts.problem}"
            return [*rans, failure(run_id, state.call, told, kind=facts.problem_kind)]
        decision = self.judge(state.call, facts, verdict, terms)
        if state.approved and decision.effect == "ask":
            return [*rans, decided(run_id, state.call, decision)]
        return [*rans, *self._decided(run_id, state.call, facts, decision)]

    def _marked(self, call: ToolCall, facts: CallFacts, terms: Terms) -> CallFacts:
        """Name the hooks of a call; they are not asked about what none of them could allow."""
        if self.marks is None or facts.problem is not None:
            return facts
        names = self.marks(call, facts)
        if not names or self.judge(call, facts, _MOST, terms).effect == "deny":
            return facts
        return msgspec.structs.replace(facts, hooks=names)

    def patterns(self, call: ToolCall, facts: CallFacts) -> tuple[str, ...]:
        """What "always" grants by pattern for a call; its card says the same."""
        whole = msgspec.structs.replace(facts, args=facts.args or call.args)
        return always_patterns(prepare(call.tool, whole, self.policy, Grants()))

    def judge(
        self, call: ToolCall, facts: CallFacts, hook: HookVerdict | None, terms: Terms
    ) -> Decision:
        """What the rules say of a call, with what hooks said of it."""
        policy = self.policy
        if terms.rules:  # what the user changed in this thread stands before what was written
            policy = msgspec.structs.replace(policy, rules=(*terms.rules, *policy.rules))
        if facts.args is None:
            facts = msgspec.structs.replace(facts, args=call.args)
        return self.evaluate(call.tool, facts, policy, terms.grants, hook)

    def _decided(
        self, run_id: str, call: ToolCall, facts: CallFacts, decision: Decision
    ) -> list[Event]:
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
        if decision.effect == "notify":
            return [recorded, told(run_id, call, facts, decision)]
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


def told(run_id: str, call: ToolCall, facts: CallFacts, decision: Decision) -> Noted:
    """What the user is told of a call that runs without being asked for."""
    what = facts.command or ", ".join((*facts.paths, *facts.hosts))
    about = f" ({what[:TOLD]})" if what else ""
    text = f"{call.tool}{about} runs; {decision.rule} says to tell you."
    return Noted(run_id=run_id, code="notify", text=text)


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
