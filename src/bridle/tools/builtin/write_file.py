"""Write a whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.builtin.editing import region
from bridle.tools.builtin.read_file import numbered
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.words import counted

if TYPE_CHECKING:
    from bridle.ports.tools import CallScope
    from bridle.tools.builtin.workspace import Workplace

SHOWN_LINES = 40


def write_file_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""

    @tool(name="write_file", category="edit", effect="safe", paths=place.touched)
    async def write_file(path: str, content: str, ctx: ToolContext[Any]) -> str:
        """Write a text file, creating it and its directories, or replacing what is there."""
        return await anyio.to_thread.run_sync(_write, place, path, content, ctx.scope)

    return write_file


def _write(place: Workplace, path: str, content: str, scope: CallScope) -> str:
    before = place.files.status(path)
    if before is not None:
        check_unchanged(place, path, scope.thread_id)
    store(place, path, content, scope)
    lines = len(content.splitlines())
    return f"{'Created' if before is None else 'Wrote'} {path} ({counted(lines, 'line')})."


def store(place: Workplace, path: str, content: str, scope: CallScope) -> None:
    """Put a file in place at once, where it was decided; the thread knows it from now on."""
    body = content.encode("utf-8", "surrogateescape")
    status = place.files.write(path, body, leads_to=next(iter(scope.paths), None))
    place.seen.remember(scope.thread_id, status)


def check_unchanged(
    place: Workplace, path: str, thread_id: str, *, near: str | None = None
) -> None:
    """Refuse to change a file that somebody else changed after this thread saw it.

    What it reads now is told: the region that is like `near`, else its beginning.
    """
    now = place.files.status(path)
    seen = place.seen.last(thread_id, now.path) if now is not None else None
    if now is None or seen is None or seen == now:
        return
    body, status = place.files.read(path)
    place.seen.remember(thread_id, status)
    text = body.decode("utf-8", "replace")
    if near is None:
        now_reads = "It begins now with:\n" + numbered(text.splitlines(), 1, SHOWN_LINES)
    else:
        now_reads = "The nearest place reads now:\n" + region(text, near)
    raise ToolError(
        f"{path!r} was changed by somebody else since you read it. {now_reads}",
        hint="Read it again and decide anew.",
        kind="stale",
    )
