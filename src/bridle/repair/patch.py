"""The chosen edits as exact replacements and as a diff."""

from __future__ import annotations

import difflib

from bridle.repair.report import Replacement


def replacements(path: str, before: str, after: str) -> list[Replacement]:
    """Say how to get from one text to the other; every `old` occurs once when its turn comes."""
    old_lines, new_lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    changes = [op for op in matcher.get_opcodes() if op[0] != "equal"]
    found = []
    current = before
    shift = 0
    for _, first, last, new_first, new_last in changes:
        first, last = first + shift, last + shift
        lines = current.splitlines(keepends=True)
        new = new_lines[new_first:new_last]
        top, bottom = first, last
        while current.count("".join(lines[top:bottom])) != 1 or top == bottom:
            if top == 0 and bottom == len(lines):
                break
            top, bottom = max(0, top - 1), min(len(lines), bottom + 1)
        old_text = "".join(lines[top:bottom])
        new_text = "".join([*lines[top:first], *new, *lines[last:bottom]])
        found.append(Replacement(path=path, old=old_text, new=new_text))
        current = current.replace(old_text, new_text, 1)
        shift += len(new) - (last - first)
    return found


def unified(path: str, before: str, after: str) -> str:
    """A diff as `git` prints it."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm=""
    )
    return "\n".join(lines)
