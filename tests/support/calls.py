"""What a session's calls came to."""

from __future__ import annotations

from typing import Any


async def results(session: Any) -> list[Any]:
    """The results of the calls of a session's thread, in their order."""
    found = []
    async for event in session.events.replay(after=0):
        if event.type == "tool_end":
            found.append(event)
        if event.type in ("agent_end", "agent_paused"):
            return found
    return found
