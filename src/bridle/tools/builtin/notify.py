"""Tell the user something without ending the turn; how it is shown is the surface's business."""

from __future__ import annotations

from typing import Any

from bridle.errors import ToolError
from bridle.ports.tools import Recorded
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.events import Noted
from bridle.types.tools import Done

LONGEST = 2000


def notify_tool() -> Tool:
    """Build the tool."""

    @tool(name="notify", concurrency_safe=True, effect="safe", asks_user=True)
    async def notify(message: str, ctx: ToolContext[Any]) -> Recorded:
        """Tell the user something now, without waiting for them."""
        if not message.strip():
            raise ToolError("The message is empty.")
        noted = Noted(code="notify", text=message[:LONGEST], call_id=ctx.call_id)
        return Recorded(outcome=Done("The user was told."), events=(noted,))

    return notify
