"""The rules of the session: what was configured, what the user changed, what was granted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import UserError
from bridle.gate.decide import terms_of
from bridle.journal.fold_thread import RULES_SETTING
from bridle.permissions.evaluate import evaluate
from bridle.permissions.profiles import category_named, effect_named
from bridle.types.content import ToolCall
from bridle.types.events import PermissionGranted, SettingsChanged
from bridle.types.ops import Grant
from bridle.types.permissions import Decision, Rule

if TYPE_CHECKING:
    from bridle.app.attachment import Attachment
    from bridle.journal.state import ThreadState


class SessionPermissions:
    """Look at the rules, change them for the thread, grant for the session."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force, the user's own changes first."""
        return (*self._attachment.state.rules, *self._attachment.blueprint.policy.rules)

    @property
    def grants(self) -> dict[str, list[str]]:
        """What was granted for this session."""
        terms = terms_of(self._given(), ())
        return {
            "categories": sorted(terms.grants.categories),
            "tools": sorted(terms.grants.tools),
            "patterns": sorted(terms.grants.patterns),
        }

    async def set_category(self, category: str, effect: str) -> None:
        """Decide a category from now on in this thread."""
        category_named(category)
        await self._add(
            Rule(
                id=f"session.categories.{category}",
                matches=category,
                effect=effect_named(effect),
                layer="session",
                by_category=True,
            )
        )

    async def set_tool(self, tool: str, effect: str) -> None:
        """Decide a tool from now on in this thread."""
        await self._add(
            Rule(
                id=f"session.tools.{tool}",
                matches=tool,
                effect=effect_named(effect),
                layer="session",
            )
        )

    async def grant_category(self, category: str) -> None:
        """Allow a category for the rest of the session."""
        category_named(category)
        await self._attachment.inbox.settle(Grant(scope="category", matches=category))

    async def grant_tool(self, tool: str) -> None:
        """Allow a tool for the rest of the session."""
        await self._attachment.inbox.settle(Grant(scope="tool", matches=tool))

    def category_of(self, tool: str) -> str | None:
        """The category of a tool, None when there is no such tool."""
        blueprint = self._attachment.blueprint
        toolset = blueprint.toolset(self._attachment.state)
        return toolset.category(tool)

    def explain(self, tool: str, args: dict[str, Any]) -> Decision:
        """What would be decided about a call, by which rule, and everything that was asked."""
        state = self._attachment.state
        blueprint = self._attachment.blueprint
        facts = blueprint.toolset(state).describe(ToolCall(id="", tool=tool, args=args))
        if facts.problem is not None:
            raise UserError(facts.problem)
        facts = msgspec.structs.replace(facts, args=args)
        policy = msgspec.structs.replace(blueprint.policy, rules=self.rules)
        return evaluate(tool, facts, policy, terms_of(self._given(), ()).grants)

    def _given(self) -> list[PermissionGranted]:
        """What was granted while this harness was open; earlier grants are only kept for audit."""
        owner = self._attachment.engine.dispatcher.drain.owner.key
        return [grant for grant in self._attachment.state.grants if grant.owner == owner]

    async def _add(self, rule: Rule) -> None:
        def added(state: ThreadState) -> SettingsChanged:
            kept = [old for old in state.rules if old.id != rule.id]
            return SettingsChanged(key=RULES_SETTING, value=msgspec.to_builtins((*kept, rule)))

        await self._attachment.journal.change(self._attachment.thread.id, added)
