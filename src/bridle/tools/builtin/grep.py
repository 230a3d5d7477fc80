"""Search in files: with ripgrep where it is installed, else in Python; the results are the same."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.builtin.ignoring import walk
from bridle.tools.builtin.list_files import matcher
from bridle.tools.define import Tool, tool
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.tools.builtin.workspace import Workplace

MAX_LINES = 400
MAX_FILE_BYTES = 10_000_000
LONGEST_LINE = 400
TIMEOUT = 60.0


class Query(Fixed, frozen=True, kw_only=True):
    """What to look for."""

    pattern: str
    glob: str | None
    ignore_case: bool
    context: int


def grep_tool(place: Workplace, *, ripgrep: str | None = None) -> Tool:
    """Build the tool for a workspace; `ripgrep` is the program to use, found by default."""
    program = shutil.which("rg") if ripgrep is None else ripgrep

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
        if program:
            return await _with_ripgrep(place, program, query, start)
        return await anyio.to_thread.run_sync(_with_python, place, query, start)

    return grep


async def _with_ripgrep(place: Workplace, program: str, query: Query, start: str) -> str:
    base, name = (start, ".") if os.path.isdir(start) else os.path.split(start)  # noqa: ASYNC240
    argv = [
        program, "--no-config", "--color=never", "--no-heading", "--line-number", "--with-filename",
        "--hidden", "--glob=!.git", "--no-require-git", "--no-ignore-global",
        "--no-ignore-exclude", "--no-ignore-dot", "--sort=path",
        f"--max-filesize={MAX_FILE_BYTES}", f"--context={query.context}",
    ]  # fmt: skip
    if query.ignore_case:
        argv.append("--ignore-case")
    if query.glob:
        argv.append(f"--glob={query.glob}")
    result = await place.processes.run(
        [*argv, "--regexp", query.pattern, "--", name],
        sandbox=None,
        cwd=base,
        timeout=TIMEOUT,
        stderr="separate",
    )
    if result.exit_code > 1:
        raise ToolError(f"The search failed: {result.stderr.strip()[:500]}")
    lines = (line.removeprefix("./") for line in result.stdout.splitlines())
    return _bounded(lines)


def _with_python(place: Workplace, query: Query, start: str) -> str:
    flags = re.IGNORECASE if query.ignore_case else 0
    expression = re.compile(query.pattern, flags)
    return _bounded(_search(place, query, expression, start))


def _search(
    place: Workplace, query: Query, expression: re.Pattern[str], start: str
) -> Iterator[str]:
    matches: Any = matcher(query.glob) if query.glob else lambda _path: True
    gap = False
    for name, full in _candidates(place, start):
        if not matches(name):
            continue
        for block in _blocks(full, expression, query.context):
            if query.context and gap:
                yield "--"
            gap = True
            for number, line, hit in block:
                mark = ":" if hit else "-"
                yield f"{name}{mark}{number}{mark}{line}"


def _candidates(place: Workplace, start: str) -> Iterator[tuple[str, str]]:
    if not Path(start).is_dir():
        yield Path(start).name, start
        return
    for found in sorted(
        (f.path for f in walk(str(place.root), start) if not f.is_dir),
        key=lambda path: path.split("/"),
    ):
        yield found, f"{start}/{found}"


def _blocks(
    full: str, expression: re.Pattern[str], context: int
) -> Iterator[list[tuple[int, str, bool]]]:
    """The matching lines of a file, with those around them, in runs that touch."""
    try:
        if Path(full).is_symlink() or Path(full).stat().st_size > MAX_FILE_BYTES:
            return
        body = Path(full).read_bytes()
    except OSError:
        return
    if b"\0" in body[:8192]:
        return
    text = body.decode("utf-8", "replace")
    if expression.search(text) is None:
        return
    lines = text.splitlines()
    hits = [number for number, line in enumerate(lines) if expression.search(line)]
    if not hits:
        return
    wanted = sorted(
        {n for hit in hits for n in range(hit - context, hit + context + 1) if 0 <= n < len(lines)}
    )
    chosen = set(hits)
    block: list[tuple[int, str, bool]] = []
    for number in wanted:
        if block and number != block[-1][0]:
            yield block
            block = []
        block.append((number + 1, lines[number], number in chosen))
    yield block


def _bounded(lines: Iterator[str]) -> str:
    shown: list[str] = []
    for line in lines:
        if len(shown) >= MAX_LINES:
            shown.append(f"(more than {MAX_LINES} lines; make the pattern narrower)")
            break
        shown.append(line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…")
    return "\n".join(shown) or "(nothing found)"
