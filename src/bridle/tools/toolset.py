"""The tools of one run behind the Toolbox port."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import UserError
from bridle.tools.define import Tool
from bridle.types.tools import CallFacts, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bridle.ports.tools import CallScope, Outcome
    from bridle.types.content import ToolCall

ALIASES: Mapping[str, str] = {
    "execute_command": "bash",
    "shell": "bash",
    "search_files": "grep",
    "todo_write": "task_write",
    "todo_read": "task_check",
}


class ToolSet:
    """Tools by name, in the order they were given; `deps` is handed to their contexts.

    `withheld` are tools that the model is not told of; a call of one is described, so that the
    gate decides about it. `unavailable` maps tools that are offered and cannot run to the reason.
    `quiet` makes tools that the model is not told of and that run when it calls them.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        deps: Any = None,
        withheld: Iterable[Tool] = (),
        unavailable: Mapping[str, str] | None = None,
        quiet: Callable[[str], Tool | None] = lambda _name: None,
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._withheld = {tool.name: tool for tool in withheld}
        self._unavailable = unavailable or {}
        self._deps = deps
        self._quiet = cache(quiet)
        for tool in tools:
            if not isinstance(tool, Tool):
                raise UserError(f"{tool!r} is not a tool; decorate the function with @tool.")
            if tool.name in self._tools and self._tools[tool.name] is not tool:
                raise UserError(f"There are two tools named {tool.name!r}.")
            self._tools[tool.name] = tool
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in self._tools.values())

    def describe(self, call: ToolCall) -> CallFacts:
        """Validate a call; an unknown tool is told the names there are."""
        tool = self._find(call.tool)
        if tool is None:
            names = ", ".join(self._tools) or "none"
            return CallFacts(
                problem=f"There is no tool {call.tool!r}. Available tools: {names}. "
                "Call one of them by its exact name.",
                problem_kind="unknown_tool",
            )
        reason = self._unavailable.get(tool.name)
        if reason is not None:
            return CallFacts(
                problem=f"{tool.name} is not available here: {reason}.", problem_kind="unavailable"
            )
        return tool.describe(call)

    def category(self, name: str) -> str | None:
        """The category of a tool, where it does not depend on the arguments."""
        tool = self._find(name)
        if tool is None:
            return None
        return "other" if callable(tool.category) else tool.category

    async def execute(self, call: ToolCall, scope: CallScope) -> Outcome:
        """Run a call that the gate has let through."""
        tool = self._find(call.tool)
        assert tool is not None, "a call of an unknown tool is answered by the gate"
        return await tool.execute(call.args, msgspec.structs.replace(scope, deps=self._deps))

    def _find(self, name: str) -> Tool | None:
        real = ALIASES.get(name, "")
        offered = self._tools.get(name) or self._tools.get(real)
        return offered or self._withheld.get(name) or self._withheld.get(real) or self._quiet(name)
