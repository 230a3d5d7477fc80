"""Write a whole file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.define import Tool, tool

if TYPE_CHECKING:
    from bridle.tools.builtin.workspace import Workplace


def write_file_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""

    @tool(name="write_file", category="edit", effect="safe", paths=place.touched)
    async def write_file(path: str, content: str) -> str:
        """Write a text file, creating it and its directories, or replacing what is there."""
        return await anyio.to_thread.run_sync(_write, place, path, content)

    return write_file


def _write(place: Workplace, path: str, content: str) -> str:
    found = place.locate(path)
    if found.is_dir():
        raise ToolError(f"{path!r} is a directory.")
    new = not found.exists()
    try:
        found.parent.mkdir(parents=True, exist_ok=True)
        _replace(found, content.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise ToolError(f"{path!r} cannot be written: {error.strerror}") from error
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    return f"{'Created' if new else 'Wrote'} {path} ({lines} lines)."


def _replace(target: Path, body: bytes) -> None:
    """Put the whole file in place at once, keeping its mode."""
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
        Path(draft).chmod(mode)
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _umask() -> int:
    present = os.umask(0)
    os.umask(present)
    return present
