"""Search in files: with ripgrep where it is installed, else in Python; the results are the same."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from bridle.errors import ToolError
from bridle.ports.programs import which
from bridle.tools.builtin import searching
from bridle.tools.builtin.ignoring import IGNORE_FILE, repository_top
from bridle.tools.builtin.searching import MAX_FILE_BYTES, Query
from bridle.tools.define import Tool, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.tools.builtin.workspace import Workplace

MAX_LINES = 400
LONGEST_LINE = 400
TIMEOUT = 60.0


def grep_tool(place: Workplace, *, ripgrep: str | None = None) -> Tool:
    """Build the tool for a workspace; `ripgrep` is the program to use, found by default."""
    program = which("rg") if ripgrep is None else ripgrep

    @tool(
        name="grep",
        category="read",
        read_only=True,
        concurrency_safe=True,
        paths=lambda args: place.touched({"path": args.get("path", ".")}),
    )
    async def grep(
        pattern: str,
        path: str = ".",
        glob: str | None = None,
        ignore_case: bool = False,
        context: int = 0,
    ) -> str:
        """Search files for a regular expression; glob limits the files, context adds lines."""
        try:
            re.compile(pattern)
        except re.error as error:
            raise ToolError(f"The pattern is not a regular expression: {error}") from error
        query = Query(
            pattern=pattern, glob=glob, ignore_case=ignore_case, context=max(0, min(context, 20))
        )
        start = place.files.resolve(path)
        if program and (options := _options(str(place.root), start, query)) is not None:
            found = await _with_ripgrep(place, program, options, query, start)
            if found is not None:
                return found
        return await anyio.to_thread.run_sync(_with_python, place, query, start)

    return grep


def _options(root: str, start: str, query: Query) -> list[str] | None:
    """How to ask ripgrep for the same; None where it would find something else.

    A glob for ripgrep also takes in what is ignored, a type does not, but knows names only. Files
    named on its command line are searched otherwise, and it heeds all .gitignore files above.
    """
    if not os.path.isdir(start):
        return None
    options = []
    if query.glob is not None:
        if not query.glob.strip() or "/" in query.glob or query.glob[0] in "!\\":
            return None
        options += [f"--type-add=wanted:{query.glob}", "--type=wanted"]
    top = repository_top(root)
    above = _has_rules(os.path.dirname(top), None)
    if not _has_rules(os.path.dirname(start), top):
        options.append("--no-ignore-parent")
    elif above and top != "/":
        return None
    return options


def _has_rules(place: str, down_to: str | None) -> bool:
    """Whether a directory or one above it has a .gitignore, up to and with `down_to`."""
    if down_to is not None and not (place + "/").startswith(down_to.rstrip("/") + "/"):
        return False
    while True:
        if os.path.lexists(os.path.join(place, IGNORE_FILE)):
            return True
        if place == down_to or place == os.path.dirname(place):
            return False
        place = os.path.dirname(place)


async def _with_ripgrep(
    place: Workplace, program: str, options: list[str], query: Query, start: str
) -> str | None:
    """Ask ripgrep; None when it cannot read the pattern."""
    argv = [
        program, "--no-config", "--color=never", "--no-heading", "--line-number", "--with-filename",
        "--hidden", "--glob=!.git", "--no-require-git", "--no-ignore-global", "--no-messages",
        "--no-ignore-exclude", "--no-ignore-dot", "--sort=path", "--crlf", "--encoding=none",
        f"--max-filesize={MAX_FILE_BYTES}", f"--context={query.context}", *options,
    ]  # fmt: skip
    if query.ignore_case:
        argv.append("--ignore-case")
    result = await place.processes.run(
        [*argv, "--regexp", query.pattern, "--", "."],
        sandbox=None,
        cwd=start,
        timeout=TIMEOUT,
        stderr="separate",
    )
    if result.exit_code > 1:
        return None
    lines = result.stdout.split("\n")
    return _bounded(line.removeprefix("./").rstrip("\r") for line in lines[:-1])


def _with_python(place: Workplace, query: Query, start: str) -> str:
    if Path(start).is_dir():
        return _bounded(searching.search(str(place.root), start, query))
    return _bounded(searching.search_file(start, query))


def _bounded(lines: Iterator[str]) -> str:
    shown: list[str] = []
    for line in lines:
        if len(shown) >= MAX_LINES:
            shown.append(f"(more than {MAX_LINES} lines; make the pattern narrower)")
            break
        shown.append(line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…")
    return "\n".join(shown) or "(nothing found)"
