"""Read a file, with line numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.define import Tool, ToolContext, tool

if TYPE_CHECKING:
    from bridle.tools.builtin.workspace import Workplace

DEFAULT_LINES = 2000
LONGEST_LINE = 2000
MAX_BYTES = 20_000_000


def read_file_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""

    @tool(
        name="read_file",
        category="read",
        read_only=True,
        concurrency_safe=True,
        effect="safe",
        paths=place.touched,
    )
    async def read_file(
        path: str, ctx: ToolContext[Any], offset: int = 1, limit: int = DEFAULT_LINES
    ) -> str:
        """Read a text file; lines are numbered. offset is the first line, limit how many."""
        if offset < 1 or limit < 1:
            raise ToolError("offset and limit start at 1.")
        text = await anyio.to_thread.run_sync(read_text, place, path, ctx.thread_id)
        return numbered(text.splitlines(), offset, limit)

    return read_file


def read_text(place: Workplace, path: str, thread_id: str) -> str:
    """The text of a file; the thread has seen it from now on."""
    body, status = place.files.read(path, limit=MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise ToolError(f"{path!r} has more than {MAX_BYTES} bytes.", hint="Search in it instead.")
    if b"\0" in body[:8192]:
        raise ToolError(f"{path!r} is not a text file ({len(body)} bytes).", kind="binary")
    place.seen.remember(thread_id, status)
    return body.decode("utf-8", "surrogateescape")


def numbered(lines: list[str], offset: int, limit: int) -> str:
    """Some lines with their numbers, and how to go on."""
    chosen = lines[offset - 1 : offset - 1 + limit]
    if not chosen:
        return "(the file is empty)" if not lines else f"(the file has only {len(lines)} lines)"
    shown = [f"{number}\t{_short(line)}" for number, line in enumerate(chosen, offset)]
    left = len(lines) - (offset - 1 + len(chosen))
    if left > 0:
        shown.append(f"({left} more lines; go on with offset={offset + len(chosen)})")
    return "\n".join(shown).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… ({len(line)} characters)"
