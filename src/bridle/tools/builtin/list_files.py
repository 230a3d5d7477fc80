"""List files, and find files by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.builtin.gitignore import braces, translate
from bridle.tools.builtin.ignoring import walk
from bridle.tools.define import Tool, tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.tools.builtin.workspace import Workplace

MAX_ENTRIES = 1000


def list_files_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""

    @tool(
        name="list_files",
        category="read",
        read_only=True,
        concurrency_safe=True,
        paths=lambda args: _touched(place, args),
    )
    async def list_files(path: str = ".", depth: int = 2) -> str:
        """List files and directories below a path, without what .gitignore leaves out."""
        if depth < 1:
            raise ToolError("depth starts at 1.")
        return await anyio.to_thread.run_sync(_list, place, path, depth)

    return list_files


def glob_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""

    @tool(
        name="glob",
        category="read",
        read_only=True,
        concurrency_safe=True,
        paths=lambda args: _touched(place, args),
    )
    async def glob(pattern: str, path: str = ".") -> str:
        """Find files by a pattern such as src/**/*.py, newest first, without ignored ones."""
        return await anyio.to_thread.run_sync(_glob, place, pattern, path)

    return glob


def _touched(place: Workplace, args: dict[str, Any]) -> tuple[str, ...]:
    return place.touched({"path": args.get("path", ".")})


def _list(place: Workplace, path: str, depth: int) -> str:
    start = place.directory(path)
    lines: list[str] = []
    for found in walk(str(place.root), start, depth=depth):
        if len(lines) >= MAX_ENTRIES:
            lines.append(f"(more than {MAX_ENTRIES} entries; list a directory below)")
            break
        lines.append(found.path + ("/" if found.is_dir else ""))
    return "\n".join(lines) or "(empty)"


def _glob(place: Workplace, pattern: str, path: str) -> str:
    start = place.directory(path)
    matches = matcher(pattern)
    found = [entry.path for entry in walk(str(place.root), start) if not entry.is_dir]
    chosen = [name for name in found if matches(name)]
    chosen.sort(key=lambda name: -_modified(os.path.join(start, name)))
    shown = chosen[:MAX_ENTRIES]
    if len(chosen) > len(shown):
        shown.append(f"({len(chosen) - MAX_ENTRIES} more)")
    return "\n".join(shown) or "(no files match)"


def matcher(pattern: str) -> Callable[[str], bool]:
    """A test for relative paths: `*` within a name, `**` across directories, `{a,b}`, `!` not.

    A pattern without a slash is about the name of a file, one with a slash about its whole path.
    """
    import re

    wanted = pattern.strip()
    if wanted.startswith("!"):
        inner = matcher(wanted[1:])
        return lambda path: not inner(path)
    if not wanted:
        raise ToolError("The pattern is empty.")
    by_name = "/" not in wanted
    try:
        union = "|".join(translate(glob) for glob in braces(wanted.removeprefix("/")))
        matches = re.compile(union, re.DOTALL).fullmatch
    except re.error as error:
        raise ToolError(f"{pattern!r} is not a pattern: {error}") from error
    if by_name:
        return lambda path: matches(path.rpartition("/")[2]) is not None
    return lambda path: matches(path) is not None


def _modified(path: str) -> float:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
