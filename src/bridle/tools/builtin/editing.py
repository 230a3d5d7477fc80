"""Find the place of an edit: exactly first, then tolerantly where only one reading is possible.

Pure functions over text. Two matches or none are never guessed at.
"""

from __future__ import annotations

from bridle.errors import ToolError

CONTEXT_LINES = 8


def apply_edit(text: str, old: str, new: str, *, replace_all: bool = False) -> tuple[str, int]:
    """Replace `old` by `new`; returns the new text and how many places changed."""
    if not old:
        raise ToolError("old is empty.", hint="Use write_file to make a file.")
    if old == new:
        raise ToolError("old and new are the same; there is nothing to change.")
    count = text.count(old)
    if count == 1 or (count > 1 and replace_all):
        return text.replace(old, new), count
    if count > 1:
        raise ToolError(
            f"old stands {count} times in the file, at lines {_lines_of(text, old)}.",
            hint="Add lines around it until it is unique, or set replace_all.",
            kind="ambiguous_edit",
        )
    return _tolerant(text, old, new), 1


def _tolerant(text: str, old: str, new: str) -> str:
    """One place that differs only in line ends, trailing space or indentation."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(newline)
    wanted = old.replace("\r\n", "\n").strip("\n").split("\n")
    places = [
        start
        for start in range(len(lines) - len(wanted) + 1)
        if _same(lines[start : start + len(wanted)], wanted)
    ]
    if len(places) != 1:
        raise _not_found(text, lines, wanted, places)
    start = places[0]
    found = lines[start : start + len(wanted)]
    replacement = _reindented(new.replace("\r\n", "\n").strip("\n").split("\n"), wanted, found)
    if not new.strip("\n"):
        replacement = []
    return newline.join([*lines[:start], *replacement, *lines[start + len(wanted) :]])


def _same(found: list[str], wanted: list[str]) -> bool:
    """Equal but for trailing space, and for one indentation that all lines share."""
    if [line.rstrip() for line in found] == [line.rstrip() for line in wanted]:
        return True
    if [line.strip() for line in found] != [line.strip() for line in wanted]:
        return False
    shifts = {
        _indent(a)[: -len(_indent(b)) or None] if _indent(a).endswith(_indent(b)) else None
        for a, b in zip(found, wanted, strict=True)
        if a.strip()
    }
    return len(shifts) == 1 and None not in shifts and any(line.strip() for line in wanted)


def _reindented(new: list[str], wanted: list[str], found: list[str]) -> list[str]:
    """Shift the new lines as the old ones are shifted."""
    first = next(i for i, line in enumerate(wanted) if line.strip())
    have, asked = _indent(found[first]), _indent(wanted[first])
    shift = have[: len(have) - len(asked)] if have.endswith(asked) else ""
    return [shift + line if line.strip() else line for line in new]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _lines_of(text: str, old: str) -> str:
    numbers: list[str] = []
    position = text.find(old)
    while position >= 0 and len(numbers) < 10:
        numbers.append(str(text.count("\n", 0, position) + 1))
        position = text.find(old, position + len(old))
    return ", ".join(numbers)


def _not_found(text: str, lines: list[str], wanted: list[str], places: list[int]) -> ToolError:
    if places:
        at = ", ".join(str(place + 1) for place in places[:10])
        return ToolError(
            f"old is not in the file as it is written, and nearly so at lines {at}.",
            hint="Copy the lines exactly as read_file shows them.",
            kind="ambiguous_edit",
        )
    near = _nearest(lines, wanted)
    shown = "\n".join(
        f"{number + 1}\t{lines[number]}"
        for number in range(max(0, near - 2), min(len(lines), near + CONTEXT_LINES))
    )
    return ToolError(
        f"old is not in the file. The nearest place reads now:\n{shown}"
        if text
        else "The file is empty.",
        hint="Copy the lines exactly as read_file shows them.",
        kind="no_match",
    )


def _nearest(lines: list[str], wanted: list[str]) -> int:
    """The line that is most like the first line that was looked for."""
    from difflib import SequenceMatcher

    key = next((line.strip() for line in wanted if line.strip()), "")
    matcher = SequenceMatcher(b=key, autojunk=False)
    best, best_score = 0, -1.0
    for number, line in enumerate(lines[:5000]):
        matcher.set_seq1(line.strip())
        score = matcher.real_quick_ratio()
        if score > best_score and (score := matcher.ratio()) > best_score:
            best, best_score = number, score
    return best
