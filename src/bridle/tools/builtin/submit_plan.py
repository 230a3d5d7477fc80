"""Show the user a plan and wait for their word on it."""

from __future__ import annotations

from typing import Any

from bridle.errors import ToolError
from bridle.ports.tools import Suspended
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.ids import derive_id


def submit_plan_tool() -> Tool:
    """Build the tool."""

    @tool(name="submit_plan", category="other", effect="keyed", asks_user=True)
    async def submit_plan(
        plan: str, ctx: ToolContext[Any], title: str = "Implementation plan"
    ) -> Suspended:
        """Show a plan to the user and wait until they approve it or ask for another one."""
        if not plan.strip():
            raise ToolError("The plan is empty.")
        return Suspended(
            id=derive_id("pln", ctx.call_id), kind="plan", payload={"title": title, "plan": plan}
        )

    return submit_plan
