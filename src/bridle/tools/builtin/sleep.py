"""Wait for a while. A call that is run again after a crash waits only for what is left."""

from __future__ import annotations

from typing import Any

from bridle.errors import ToolError
from bridle.ports.clock import from_iso
from bridle.tools.define import Tool, ToolContext, tool

LONGEST = 3600.0
GRACE = 10.0


def sleep_tool() -> Tool:
    """Build the tool."""

    @tool(
        name="sleep",
        category="read",
        read_only=True,
        concurrency_safe=True,
        timeout=lambda args: min(float(args.get("seconds", 0)), LONGEST) + GRACE,
    )
    async def sleep(seconds: float, ctx: ToolContext[Any]) -> str:
        """Wait, at most an hour."""
        if not 0 <= seconds <= LONGEST:
            raise ToolError(f"seconds must be from 0 to {LONGEST:g}.")
        clock = ctx.scope.clock
        left = seconds
        if ctx.repeated and ctx.scope.started_at:
            left = max(0.0, from_iso(ctx.scope.started_at) + seconds - clock.now())
        await clock.sleep(left)
        return f"Waited {seconds:g} s."

    return sleep
