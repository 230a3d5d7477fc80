"""Read a file, with line numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.define import Tool, tool

if TYPE_CHECKING:
    from bridle.tools.builtin.workspace import Workplace

DEFAULT_LINES = 2000
LONGEST_LINE = 2000


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
    async def read_file(path: str, offset: int = 1, limit: int = DEFAULT_LINES) -> str:
        """Read a text file; lines are numbered. offset is the first line, limit how many."""
        return await anyio.to_thread.run_sync(_read, place, path, offset, limit)

    return read_file


def _read(place: Workplace, path: str, offset: int, limit: int) -> str:
    if offset < 1 or limit < 1:
        raise ToolError("offset and limit start at 1.")
    found = place.locate(path)
    if found.is_dir():
        raise ToolError(f"{path!r} is a directory.", hint="List it instead.")
    try:
        body = found.read_bytes()
    except FileNotFoundError:
        raise ToolError(f"There is no file {path!r}.", kind="not_found") from None
    except OSError as error:
        raise ToolError(f"{path!r} cannot be read: {error.strerror}") from error
    if b"\0" in body[:8192]:
        raise ToolError(f"{path!r} is not a text file ({len(body)} bytes).")
    lines = body.decode("utf-8", "replace").splitlines()
    chosen = lines[offset - 1 : offset - 1 + limit]
    if not chosen:
        return "(the file is empty)" if not lines else f"(the file has only {len(lines)} lines)"
    numbered = [f"{number}\t{_short(line)}" for number, line in enumerate(chosen, offset)]
    left = len(lines) - (offset - 1 + len(chosen))
    if left > 0:
        numbered.append(f"({left} more lines; go on with offset={offset + len(chosen)})")
    return "\n".join(numbered)


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… ({len(line)} characters)"
