"""Step 4 of a decision: hooks are asked about a call before the rules that could allow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.hooks.dialect import understood
from bridle.hooks.matching import matches
from bridle.types.base import Moving
from bridle.types.hooks import concluded
from bridle.types.permissions import HookVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.hooks.define import Bound
    from bridle.hooks.moments import HookType
    from bridle.hooks.running import HookSet
    from bridle.ports.hooks import HookScope, Question
    from bridle.types.content import ToolCall
    from bridle.types.events import HookRan
    from bridle.types.tools import CallFacts

ROUNDS = 5
"""How often hooks may change the arguments of one call before it is denied."""

PLANNING = frozenset({"submit_plan", "create_plan"})
GATE_TYPES: tuple[HookType, ...] = ("before", "validate", "transform")
DECIDES: tuple[HookType, ...] = ("before", "validate")
_MOST = HookVerdict(effect="allow")


class Gating(Moving, kw_only=True):
    """Asks the hooks about one call, again from the first when its arguments were changed."""

    hooks: HookSet
    question: Question
    rans: list[HookRan] = msgspec.field(default_factory=list)

    async def ask(self) -> tuple[HookRan, ...]:
        """Ask until all agree, one denies, or the arguments do not come to rest."""
        call, facts = self.question.call, self.question.facts
        for round_number in range(ROUNDS + 1):
            changed = await self._round(call, facts, last=round_number == ROUNDS)
            if changed is None:
                break
            call, facts = changed
            if facts.problem is not None or not self._open(call, facts):
                return tuple(self.rans)
        await self._answer(call, facts)
        return tuple(self.rans)

    def _open(self, call: ToolCall, facts: CallFacts) -> bool:
        """Whether a hook could still let the call through."""
        return self.question.judge(call, facts, _MOST).effect != "deny"

    async def _round(
        self, call: ToolCall, facts: CallFacts, *, last: bool
    ) -> tuple[ToolCall, CallFacts] | None:
        for bound in watching(self.hooks, self.question.scope, call, facts):
            said = await self._one(bound, call, facts)
            if self._over:
                return None
            if said is None or said == (facts.args or call.args):
                continue
            if last:
                self._end_it(f"hooks changed the arguments more than {ROUNDS} times")
                return None
            changed = msgspec.structs.replace(call, args=said, invalid=None)
            described = self.question.describe(changed)
            described = msgspec.structs.replace(described, args=described.args or said)
            self.rans[-1] = msgspec.structs.replace(self.rans[-1], facts=described)
            return changed, described
        return None

    async def _one(self, bound: Bound, call: ToolCall, facts: CallFacts) -> dict[str, Any] | None:
        scope = self.question.scope
        data = call_data(self.hooks, bound.event, scope, call, facts)
        ran, said = await self.hooks.ask(bound, scope, data, moment="gate", call_id=call.id)
        self.rans.append(ran)
        return None if said.args is None else understood(bound, call.tool, said.args)

    @property
    def _over(self) -> bool:
        return bool(self.rans) and (self.rans[-1].halt or self.rans[-1].effect == "deny")

    def _end_it(self, why: str) -> None:
        self.rans[-1] = msgspec.structs.replace(
            self.rans[-1], effect="deny", outcome="blocked", reason=why
        )

    async def _answer(self, call: ToolCall, facts: CallFacts) -> None:
        """Where the call would be asked for, hooks may answer in the user's place."""
        _, verdict = concluded(self.rans, self.question.facts)
        if self._over or self.question.judge(call, facts, verdict).effect != "ask":
            return
        scope = self.question.scope
        for bound in about_call(self.hooks, "permission:request", DECIDES, scope, call, facts):
            await self._one(bound, call, facts)
            if self.rans[-1].effect is not None or self.rans[-1].halt:
                return


def watching(hooks: HookSet, scope: HookScope, call: ToolCall, facts: CallFacts) -> list[Bound]:
    """The hooks that look at a call before it is decided."""
    found = about_call(hooks, "tool:before_call", None, scope, call, facts)
    if facts.delegates:
        found += about_call(hooks, "agent:fork", GATE_TYPES, scope, call, facts)
    if call.tool in PLANNING:
        found += about_call(hooks, "plan:create", GATE_TYPES, scope, call, facts)
    return sorted(found, key=lambda bound: bound.order)


def marks(hooks: HookSet, scope: HookScope, call: ToolCall, facts: CallFacts) -> tuple[str, ...]:
    """Name the hooks that must be asked before a call is decided."""
    answering = about_call(hooks, "permission:request", DECIDES, scope, call, facts)
    return tuple(bound.id for bound in (*watching(hooks, scope, call, facts), *answering))


def about_call(
    hooks: HookSet,
    event: str,
    types: Sequence[HookType] | None,
    scope: HookScope,
    call: ToolCall,
    facts: CallFacts,
    **more: Any,
) -> list[Bound]:
    """The hooks of a moment that are about this call."""
    candidates = hooks.of(event, types)
    if not candidates:
        return []
    told = call_data(hooks, event, scope, call, facts, **more)
    whole = msgspec.structs.replace(facts, args=facts.args or call.args)
    return [
        bound
        for bound in candidates
        if matches(bound.hook.matcher, call.tool, whole, root=hooks.root, home=hooks.home)
        and all(condition.holds(told) for condition in bound.conditions)
    ]


def call_data(
    hooks: HookSet,
    event: str,
    scope: HookScope,
    call: ToolCall,
    facts: CallFacts,
    **more: Any,
) -> dict[str, Any]:
    """What hooks are told of a call."""
    return hooks.data(
        event,
        scope,
        tool_name=call.tool,
        tool_input=facts.args or call.args,
        tool_use_id=call.id,
        **more,
    )
