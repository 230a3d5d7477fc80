"""Find the place of an edit: exactly first, then tolerantly where only one reading is possible.

Pure functions over text. Two matches or none are never guessed at: the refusal shows the text as it
is. Tolerance is about line ends, spaces at the end of lines, indentation, and runs of spaces; lines
that an edit leaves alone stay as they are in the file, not as the model wrote them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ToolError
from bridle.tools.builtin.indenting import Indents, bare, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BLANK = " \t\r"
CONTEXT_LINES = 8
SHOWN_PLACES = 3


def apply_edit(text: str, old: str, new: str, *, replace_all: bool = False) -> tuple[str, int]:
    """Replace `old` by `new`; returns the new text and how many places changed."""
    if not old:
        raise ToolError("old is empty.", hint="Use write_file to make a file.")
    if old == new:
        raise ToolError("old and new are the same; there is nothing to change.")
    places = _places(text, old)
    if len(places) == 1 or (places and replace_all):
        return text.replace(old, _with_ends(new, old, text)), text.count(old)
    if places:
        raise _ambiguous(text, [text.count("\n", 0, place) for place in places], old.count("\n"))
    return _tolerant(text, old, new), 1


def region(text: str, old: str) -> str:
    """The part of a text that is most like what was looked for, with line numbers."""
    if not text:
        return "(the file is empty)"
    lines = text.split("\n")
    return _numbered(lines, _nearest(lines, old.split("\n")), CONTEXT_LINES)


def _places(text: str, old: str) -> list[int]:
    """Where `old` stands, also where two of them overlap."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _with_ends(new: str, old: str, text: str) -> str:
    """The new text with the line ends of the file, where the file has one kind of them."""
    if "\n" not in new:
        return new
    crlf, all_ends = text.count("\r\n"), text.count("\n")
    if crlf and crlf == all_ends:
        return new.replace("\r\n", "\n").replace("\n", "\r\n")
    if not crlf and all_ends and "\r" not in old:
        return new.replace("\r\n", "\n")
    return new


def _tolerant(text: str, old: str, new: str) -> str:
    """One place that differs only in what is tolerated, line by line."""
    lines = text.split("\n")
    wanted, given = _lines(old, new)
    if any(bare(line) for line in wanted):
        for same in (_same_but_ends, _same_but_runs):
            starts = _matching(lines, wanted, same)
            if len(starts) > 1:
                raise _ambiguous(text, starts, len(wanted) - 1)
            if starts:
                return _replaced(lines, starts[0], wanted, given)
    raise ToolError(
        f"old is not in the file. The nearest place reads now:\n{region(text, old)}"
        if text
        else "The file is empty.",
        hint="Copy the lines exactly as read_file shows them.",
        kind="no_match",
    )


def _lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Both texts in whole lines; a line end that both have is none of their lines."""
    wanted = old.replace("\r\n", "\n").split("\n")
    given = new.replace("\r\n", "\n").split("\n")
    if len(wanted) > 1 and not wanted[-1]:
        if not new:
            return wanted[:-1], []
        if not given[-1]:
            return wanted[:-1], given[:-1]
    return wanted, given


def _matching(
    lines: list[str], wanted: list[str], same: Callable[[Sequence[str], Sequence[str]], bool]
) -> list[int]:
    first = words(wanted[0])
    return [
        start
        for start in range(len(lines) - len(wanted) + 1)
        if words(lines[start]) == first and same(lines[start : start + len(wanted)], wanted)
    ]


def _same_but_ends(found: Sequence[str], wanted: Sequence[str]) -> bool:
    """Equal but for spaces around each line, with indentation that can be carried over."""
    if any(bare(a) != bare(b) for a, b in zip(found, wanted, strict=True)):
        return False
    return Indents.between(wanted, found) is not None


def _same_but_runs(found: Sequence[str], wanted: Sequence[str]) -> bool:
    """Equal but for how many spaces stand where there are some."""
    if any(words(a) != words(b) for a, b in zip(found, wanted, strict=True)):
        return False
    return Indents.between(wanted, found) is not None


def _replaced(lines: list[str], start: int, wanted: list[str], given: list[str]) -> str:
    """Put the new lines in place of the found ones; what was not changed is not touched."""
    from difflib import SequenceMatcher

    found = lines[start : start + len(wanted)]
    indents = Indents.between(wanted, found)
    assert indents is not None, "the place was found by its indentation"
    ended = lines[start : min(start + len(wanted), len(lines) - 1)] or lines[:-1]
    end = "\r" if ended and all(line.endswith("\r") for line in ended) else ""
    replacement: list[str] = []
    matcher = SequenceMatcher(a=wanted, b=given, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            replacement += found[a:b]
        else:
            replacement += [indents.carry(line) + end for line in given[c:d]]
    if start + len(wanted) == len(lines) and replacement:  # the last line has no end of its own
        replacement[-1] = replacement[-1].removesuffix("\r")
    elif not replacement and start + len(wanted) == len(lines) and start:
        replacement = [""]  # what stood last is gone, the line end before it stays
    return "\n".join([*lines[:start], *replacement, *lines[start + len(wanted) :]])


def _ambiguous(text: str, starts: list[int], more: int) -> ToolError:
    lines = text.split("\n")
    shown = "\n…\n".join(_numbered(lines, at, more + 2) for at in starts[:SHOWN_PLACES])
    at = ", ".join(str(start + 1) for start in starts[:10])
    return ToolError(
        f"old stands at {len(starts)} places, at lines {at}:\n{shown}",
        hint="Add lines around it until it is unique, or set replace_all.",
        kind="ambiguous_edit",
    )


def _numbered(lines: list[str], at: int, count: int) -> str:
    chosen = range(max(0, at - 2), min(len(lines), at + count))
    return "\n".join(f"{number + 1}\t{lines[number].rstrip(BLANK)}" for number in chosen)


def _nearest(lines: list[str], wanted: list[str]) -> int:
    """The line that is most like the first line that was looked for."""
    from difflib import SequenceMatcher

    key = next((line.strip() for line in wanted if line.strip()), "")
    matcher = SequenceMatcher(b=key, autojunk=False)
    best, best_score = 0, -1.0
    for number, line in enumerate(lines[:5000]):
        matcher.set_seq1(line.strip())
        if matcher.real_quick_ratio() > best_score and (score := matcher.ratio()) > best_score:
            best, best_score = number, score
    return best
