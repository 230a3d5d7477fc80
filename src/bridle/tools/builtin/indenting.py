"""From the indentation of one text to that of another, where there is one way to do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ToolError
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

BLANK = " \t\r"


def bare(line: str) -> str:
    """A line without the spaces and tabs around it; other white space is content."""
    return line.strip(BLANK)


def words(line: str) -> list[str]:
    """What stands between the spaces and tabs of a line."""
    return [word for word in bare(line).replace("\t", " ").split(" ") if word]


def indent(line: str) -> str:
    """The spaces and tabs that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


class Indents(Fixed, frozen=True):
    """How each indentation of one text is written in another.

    `known` are the pairs that were seen. `added` and `dropped` hold where every pair differs by
    the same beginning, so that indentations which were not seen can be carried over too.
    """

    known: dict[str, str]
    added: str | None
    dropped: str | None

    @classmethod
    def between(cls, wanted: Sequence[str], found: Sequence[str]) -> Indents | None:
        """The way from the lines of a model to those of a file; None where there is no one way."""
        known: dict[str, str] = {}
        for mine, theirs in zip(wanted, found, strict=True):
            if bare(mine) and known.setdefault(indent(mine), indent(theirs)) != indent(theirs):
                return None
        if len(set(known.values())) != len(known):
            return None
        by_length = sorted(known, key=len)
        widths = [len(known[name]) for name in by_length]
        if widths != sorted(widths):
            return None
        return cls(known, _prefix(known), _prefix({b: a for a, b in known.items()}))

    def carry(self, line: str) -> str:
        """A new line with the indentation that it has there; raises where that is a guess."""
        if not bare(line):
            return line.rstrip(BLANK)
        mine = indent(line)
        if mine in self.known:
            return self.known[mine] + line[len(mine) :]
        if self.added is not None:
            return self.added + line
        if self.dropped is not None and line.startswith(self.dropped):
            return line[len(self.dropped) :]
        unit = self._unit()
        if unit is not None and not mine.strip(unit[0][0]) and len(mine) % len(unit[0]) == 0:
            return unit[1] * (len(mine) // len(unit[0])) + line[len(mine) :]
        raise ToolError(
            "old is in the file with another indentation, and how new is to be indented there "
            f"cannot be told for: {line.strip()!r}",
            hint="Copy the lines exactly as read_file shows them.",
            kind="no_match",
        )

    def _unit(self) -> tuple[str, str] | None:
        """One step of indentation in both texts, where all pairs are made of such steps."""
        for mine in ("    ", "  ", "\t", " " * 8, "   "):
            for theirs in ("\t", "    ", "  ", " " * 8, "   "):
                pairs = self.known.items()
                if len(pairs) > 1 and all(
                    a == mine * (len(a) // len(mine)) and b == theirs * (len(a) // len(mine))
                    for a, b in pairs
                ):
                    return mine, theirs
        return None


def _prefix(known: dict[str, str]) -> str | None:
    """What stands before every left side to make its right side, if it is the same for all."""
    found = {right[: len(right) - len(left)] for left, right in known.items()}
    if len(found) != 1:
        return None
    (prefix,) = found
    whole = all(prefix + left == right for left, right in known.items())
    return prefix if whole else None
