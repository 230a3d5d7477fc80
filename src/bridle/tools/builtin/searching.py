"""Search files in Python, fast enough to do without ripgrep.

Most files do not hold what is looked for. So each is read into one buffer and first searched for a
text that every match must contain; only a file that has it is decoded and looked at line by line.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from bridle.tools.builtin.ignoring import files
from bridle.tools.builtin.list_files import matcher
from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_FILE_BYTES = 10_000_000
BINARY = 65_536
"""A file with a NUL in so many bytes at its beginning is not text."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LINE_BOUND = lazy(r"\\[AZ]|\(\?(?!:)|[*+?}]\+")
"""What may match a line alone and not the same line within a text."""


class Query(Fixed, frozen=True, kw_only=True):
    """What to look for."""

    pattern: str
    glob: str | None = None
    ignore_case: bool = False
    context: int = 0

    @property
    def expression(self) -> re.Pattern[str]:
        """The pattern for one line."""
        return re.compile(self.pattern, re.IGNORECASE if self.ignore_case else 0)


def search(root: str, start: str, query: Query) -> Iterator[str]:
    """The matching lines below a directory, as ripgrep prints them."""
    wanted: Callable[[str], bool] = matcher(query.glob) if query.glob else lambda _path: True
    cut = len(start.rstrip("/")) + 1
    named = ((full[cut:], full) for full in files(root, start))
    return _matches(((name, full) for name, full in named if wanted(name)), query)


def search_file(path: str, query: Query) -> Iterator[str]:
    """The matching lines of one file."""
    return _matches(iter([(path.rpartition("/")[2], path)]), query)


def _matches(candidates: Iterator[tuple[str, str]], query: Query) -> Iterator[str]:
    expression = query.expression
    may_hold = _filter(query)
    buffer = bytearray(MAX_FILE_BYTES + 1)
    gap = False
    for name, full in candidates:
        size = _read(full, buffer)
        if not size or size > MAX_FILE_BYTES or not may_hold(buffer, size):
            continue
        if buffer.find(b"\0", 0, min(size, BINARY)) >= 0:
            continue
        text = bytes(memoryview(buffer)[:size]).decode("utf-8", "replace")
        for block in _blocks(text, expression, query.context):
            if query.context and gap:
                yield "--"
            gap = True
            for number, line, hit in block:
                mark = ":" if hit else "-"
                yield f"{name}{mark}{number}{mark}{line}"


def _read(path: str, buffer: bytearray) -> int:
    """Read a file into the buffer; the number of its bytes, 0 when it cannot be read."""
    try:
        fd = os.open(path, _FLAGS)
    except OSError:
        return 0
    size = 0
    try:
        with memoryview(buffer) as view:
            while count := os.readv(fd, [view[size:]]):
                size += count
                if size == len(buffer):
                    break
    except OSError:
        return 0  # a directory, or something that went away
    finally:
        os.close(fd)
    return size


def _filter(query: Query) -> Callable[[bytearray, int], bool]:
    """A cheap test that every file with a match passes."""
    needle = required(query.pattern)
    if needle and not query.ignore_case:
        return lambda buffer, size: buffer.find(needle.encode(), 0, size) >= 0
    if needle.isascii() and needle:
        small = needle.lower().encode()

        def may_hold_small(buffer: bytearray, size: int) -> bool:
            data = bytes(memoryview(buffer)[:size])
            return not data.isascii() or small in data.lower()

        return may_hold_small
    if _LINE_BOUND.search(query.pattern) is None:
        flags = re.MULTILINE | (re.IGNORECASE if query.ignore_case else 0)
        whole = re.compile(query.pattern, flags)

        def may_hold(buffer: bytearray, size: int) -> bool:
            text = bytes(memoryview(buffer)[:size]).decode("utf-8", "replace")
            return whole.search(text.replace("\r\n", "\n")) is not None

        return may_hold
    return lambda _buffer, _size: True


def required(pattern: str) -> str:
    """The longest text that every match of a pattern contains; empty where none is known."""
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]

    parsed = parser.parse(pattern)
    if parsed.state.flags & re.IGNORECASE:
        return ""
    runs: list[str] = [""]
    for code, value in _flat(parsed, codes):
        if code is codes.LITERAL and value != 0xFFFD:
            runs[-1] += chr(value)
        else:
            runs.append("")
    return max(runs, key=len)


def _flat(parsed: Any, codes: Any) -> Iterator[tuple[Any, Any]]:
    """The parts that every match goes through, with groups opened."""
    for code, value in parsed:
        if code is codes.SUBPATTERN and not value[1] and not value[2]:
            yield from _flat(value[3], codes)
        else:
            yield code, value


def _blocks(
    text: str, expression: re.Pattern[str], context: int
) -> Iterator[list[tuple[int, str, bool]]]:
    """The matching lines of a text, with those around them, in runs that touch."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    lines = [line.rstrip("\r") for line in lines]
    hits = [number for number, line in enumerate(lines) if expression.search(line)]
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
    if block:
        yield block
