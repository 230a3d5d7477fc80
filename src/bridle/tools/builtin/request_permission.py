"""Ask the user for a grant before it is needed.

The gate asks the user about every call of this tool, whatever the rules say, so the approval is a
row like any other: it waits, and may be answered from another process. The call runs when the user
has approved it, and what it does is to record the grant. Denials stay denials.
"""

from __future__ import annotations

from typing import Any

from bridle.errors import ConfigError, ToolError
from bridle.permissions.patterns import parse
from bridle.permissions.profiles import category_named
from bridle.ports.tools import Recorded
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.events import PermissionGranted
from bridle.types.tools import Done


def request_permission_tool() -> Tool:
    """Build the tool."""

    @tool(name="request_permission", read_only=True, fills=_checked)
    async def request_permission(
        reason: str,
        ctx: ToolContext[Any],
        tool: str | None = None,
        category: str | None = None,
        pattern: str | None = None,
    ) -> Recorded:
        """Ask the user to allow a tool, category or pattern such as bash(npm test:*)."""
        scope, matches = wanted(tool=tool, category=category, pattern=pattern)
        granted = PermissionGranted(
            scope=scope, matches=matches, owner=ctx.scope.owner, call_id=ctx.call_id
        )
        done = Done(f"The user allowed {matches} for the rest of this session ({reason}).")
        return Recorded(outcome=done, events=(granted,))

    return request_permission


def _checked(args: dict[str, Any]) -> dict[str, Any]:
    """Refuse what could not be granted before the user is asked."""
    wanted(**{name: args.get(name) for name in ("tool", "category", "pattern")})
    if not str(args.get("reason", "")).strip():
        raise ToolError("Say why: the user reads the reason.")
    return args


def wanted(*, tool: str | None, category: str | None, pattern: str | None) -> tuple[str, str]:
    """The scope of a grant and what it matches; exactly one must be asked for."""
    named = [
        (scope, value)
        for scope, value in (("tool", tool), ("category", category), ("pattern", pattern))
        if value
    ]
    if len(named) != 1:
        raise ToolError("Ask for one thing: a tool, a category or a pattern.")
    scope, value = named[0]
    try:
        category_named(value) if scope == "category" else parse(value)
    except ConfigError as error:
        raise ToolError(str(error)) from error
    return scope, value
