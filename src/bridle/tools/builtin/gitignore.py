"""What a .gitignore file leaves out, as git reads it.

Patterns are compiled to a few regular expressions per file, so that a walk asks each entry once and
not once per pattern. An entry is asked about itself only: a walk does not go into what is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterable

MAGIC = frozenset("*?[\\")


class Rule(Fixed, frozen=True):
    """One line: what it matches, and whether it takes entries back in."""

    matches: re.Pattern[str]
    negated: bool
    only_directories: bool
    by_name: bool

    def concerns(self, name: str, path: str, *, is_dir: bool) -> bool:
        """Whether the line is about this entry."""
        if self.only_directories and not is_dir:
            return False
        return self.matches.fullmatch(name if self.by_name else path) is not None


class Ignore:
    """The rules of one file; the last one that is about an entry decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules = [rule for line in lines if (rule := _rule(line)) is not None]
        self._plain = not any(rule.negated for rule in self._rules)
        if self._plain:
            groups = [(name, only) for name in (True, False) for only in (False, True)]
            self._any = {
                key: _union(r for r in self._rules if (r.by_name, r.only_directories) == key)
                for key in groups
            }

    def verdict(self, name: str, path: str, *, is_dir: bool) -> bool | None:
        """Whether an entry is left out; None when nothing is said about it."""
        if self._plain:
            for (by_name, only), union in self._any.items():
                if union is None or (only and not is_dir):
                    continue
                if union.fullmatch(name if by_name else path) is not None:
                    return True
            return None
        for rule in reversed(self._rules):
            if rule.concerns(name, path, is_dir=is_dir):
                return not rule.negated
        return None


def _union(rules: Iterable[Rule]) -> re.Pattern[str] | None:
    parts = [rule.matches.pattern for rule in rules]
    return re.compile("|".join(f"(?:{part})" for part in parts), re.DOTALL) if parts else None


def _rule(line: str) -> Rule | None:
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    only_directories = text.endswith("/")
    text = text[:-1] if only_directories else text
    by_name = "/" not in text
    text = text.removeprefix("/")
    if not text:
        return None
    try:
        matches = re.compile(translate(text), re.DOTALL)
    except re.error:
        return None  # git does not match with a pattern that it cannot read either
    return Rule(matches, negated, only_directories, by_name)


def translate(glob: str) -> str:
    """The regular expression of a glob: `*` within a name, `**` across directories."""
    out: list[str] = []
    at, size = 0, len(glob)
    while at < size:
        char = glob[at]
        if char == "*":
            end = at
            while end < size and glob[end] == "*":
                end += 1
            whole = (at == 0 or glob[at - 1] == "/") and (end == size or glob[end] == "/")
            if end - at == 2 and whole:
                if end == size:
                    out.append(".+" if at else ".*")
                else:
                    out.append("(?:.*/)?")
                    end += 1
            else:
                out.append("[^/]*")
            at = end
        elif char == "?":
            out.append("[^/]")
            at += 1
        elif char == "[":
            piece, at = _class(glob, at)
            out.append(piece)
        elif char == "\\" and at + 1 < size:
            out.append(re.escape(glob[at + 1]))
            at += 2
        else:
            out.append(re.escape(char))
            at += 1
    return "".join(out)


def _class(glob: str, at: int) -> tuple[str, int]:
    """A set of characters; without its end it is no pattern."""
    end = at + 1
    if glob[end : end + 1] in ("!", "^"):
        end += 1
    if glob[end : end + 1] == "]":
        end += 1
    end = glob.find("]", end)
    if end < 0:
        raise re.error("a set of characters does not end")
    inner = glob[at + 1 : end]
    negated = inner[:1] in ("!", "^")
    inner = (inner[1:] if negated else inner).replace("\\", "\\\\").replace("[", "\\[")
    inner = inner.replace("^", "\\^").replace("&&", "&\\&").replace("]", "\\]")
    return (f"(?!/)[^{inner}]" if negated else f"(?!/)[{inner}]"), end + 1


def braces(glob: str) -> list[str]:
    """Every glob that one with `{a,b}` stands for."""
    start = glob.find("{")
    end = glob.find("}", start)
    if start < 0 or end < 0 or "," not in glob[start:end]:
        return [glob]
    head, tail = glob[:start], glob[end + 1 :]
    return [
        whole for part in glob[start + 1 : end].split(",") for whole in braces(head + part + tail)
    ]
