"""Where in a file a question is answered: the lines that hold its words, and their symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.tools.codesearch.rank import test_factor
from bridle.tools.codesearch.symbols import Symbol, symbols
from bridle.tools.codesearch.words import parts, words
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PER_FILE = 3
SNIPPET = 6
LONGEST_LINE = 160
NAMED = 2.0
"""How much more a word counts in the name of a definition than in a line."""


class Place(Fixed, frozen=True):
    """Some lines of a file, how well they fit, and the definition that they stand in."""

    path: str
    line: int
    score: float
    symbol: Symbol | None
    lines: tuple[str, ...]

    def shown(self) -> str:
        """As the model reads it."""
        inside = f" ({self.symbol.kind} {self.symbol.name})" if self.symbol else ""
        body = [
            f"{number}\t{line[:LONGEST_LINE]}" for number, line in enumerate(self.lines, self.line)
        ]
        return "\n".join([f"{self.path}:{self.line}{inside}", *body])


def places(
    path: str, text: str, asked: Sequence[str], weights: Mapping[str, float], base: float
) -> list[Place]:
    """The best places of a file; `base` is what the file as a whole is worth."""
    lines = text.splitlines()
    wanted = set(asked)
    best: dict[Symbol | None, tuple[float, int]] = {}
    known = symbols(path, text)
    around = _enclosing(known, len(lines))
    worth: dict[Symbol | None, set[str]] = {}
    for number, line in enumerate(lines, 1):
        held = words(line) & wanted
        if not held:
            continue
        symbol = around[number]
        worth.setdefault(symbol, set()).update(held)
        score = sum(weights[word] for word in held)
        if symbol not in best or score > best[symbol][0]:
            best[symbol] = (score, number)
    for symbol in known:
        named = set(parts_of(symbol.name)) & wanted
        if named:
            worth.setdefault(symbol, set()).update(named)
            best[symbol] = (best.get(symbol, (0.0, symbol.line))[0], symbol.line)
    found: list[Place] = []
    factor = test_factor(path, asked)
    for symbol, (_, number) in best.items():
        score = base / 4 + sum(weights[word] for word in worth[symbol])
        if symbol is not None:
            score += NAMED * sum(weights[word] for word in set(parts_of(symbol.name)) & wanted)
        snippet = tuple(lines[number - 1 : number - 1 + SNIPPET])
        found.append(Place(path, number, score * factor, symbol, snippet))
    found.sort(key=lambda place: (-place.score, place.line))
    return found[:PER_FILE] or [Place(path, 1, base / 4, None, tuple(lines[:SNIPPET]))]


def parts_of(name: str) -> tuple[str, ...]:
    """The words of a name with dots."""
    return tuple(word for piece in name.split(".")[-1:] for word in parts(piece))


def _enclosing(known: Sequence[Symbol], count: int) -> list[Symbol | None]:
    """For each line, the innermost definition around it."""
    around: list[Symbol | None] = [None] * (count + 2)
    for symbol in known:  # outer ones come first and are written over
        for line in range(symbol.line, min(symbol.end, count) + 1):
            around[line] = symbol
    return around
