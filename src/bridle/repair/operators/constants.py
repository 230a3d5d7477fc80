"""Constants: one off, the wrong sign, the wrong flag, the wrong text."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from bridle.repair.operators.site import ordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

OTHERS = 12
LONG = 400
LITERAL = re.compile(r"""[rRuU]?(?:"(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')(?:[^'\\\n]|\\.)*')""")


def numbers(site: Site) -> Iterator[Edit]:
    """Numbers near by value, in the file, or in the failing tests."""
    for node in site.nodes:
        if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
            continue
        if not isinstance(node.value, int | float):
            continue
        text = site.text(node)
        seen = {text}
        parent = site.source.parents.get(node)
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
            for new, weight in _near(-node.value):
                yield site.replace(parent, new, "number", weight)
        for new, weight in _near(node.value):
            if new not in seen:
                seen.add(new)
                yield site.replace(node, new, "number", weight)
        for new in site.hints.numbers[:OTHERS]:
            if new not in seen:
                seen.add(new)
                yield site.replace(node, new, "number", 0.3)
        for new in ordered(site.vocabulary.numbers, but=seen, limit=OTHERS):
            yield site.replace(node, new, "number", 0.25)
        yield site.replace(node, "None", "number", 0.2)


def _near(value: float) -> Iterator[tuple[str, float]]:
    yield repr(value + 1), 0.85
    yield repr(value - 1), 0.85
    for usual, weight in ((0, 0.5), (1, 0.5), (-1, 0.3), (2, 0.3)):
        yield repr(usual), weight
    if isinstance(value, float):
        yield repr(int(value)), 0.3
        yield repr(value + 0.5), 0.15
        yield repr(value - 0.5), 0.15
    for factor in (10, 2, 100, 1000):
        yield repr(value * factor), 0.15
        yield repr(value // factor if isinstance(value, int) else value / factor), 0.15


def flags(site: Site) -> Iterator[Edit]:
    """`True` for `False`, `None` for either."""
    for node in site.nodes:
        if not isinstance(node, ast.Constant):
            continue
        if isinstance(node.value, bool):
            yield site.replace(node, str(not node.value), "flag", 0.95)
            yield site.replace(node, "None", "flag", 0.3)
        elif node.value is None:
            weight = 0.12 if isinstance(site.source.parents.get(node), ast.Compare) else 0.5
            for new in ("True", "False", "0", "''", "[]", "{}", "1", "()", "-1", "set()"):
                yield site.replace(node, new, "flag", weight)


def strings(site: Site) -> Iterator[Edit]:
    """Text as the failing tests want it, as the file has it elsewhere, or in another case."""
    for node in site.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        text = site.text(node)
        yield from _pieces(site, node)
        if len(text) > LONG:
            continue
        seen = {text}
        for new, weight in [*_wanted(site, node.value), *_cased(node.value)]:
            written = _like(text, new)
            if written not in seen:
                seen.add(written)
                yield site.replace(node, written, "text", weight)
        if _is_document(site, node):
            continue
        for other in ordered(site.vocabulary.strings, but=seen, limit=2 * OTHERS):
            yield site.replace(node, other, "text", 0.22)
        yield site.replace(node, "None", "text", 0.1)


def _pieces(site: Site, node: ast.Constant) -> Iterator[Edit]:
    """The literals of a text that is written as several in a row."""
    start, end = site.source.span(node)
    found = list(LITERAL.finditer(site.source.text, start, end))
    if len(found) < 2:
        return
    for piece in found:
        try:
            value = ast.literal_eval(piece.group())
        except (SyntaxError, ValueError):
            return  # not what it looks like: quotes of another kind inside
        if not isinstance(value, str):
            return
        for new, weight in [*_wanted(site, value), *_cased(value)]:
            if new != value:
                written = _like(piece.group(), new)
                yield site.change(piece.start(), piece.end(), written, "text", weight)


def _is_document(site: Site, node: ast.Constant) -> bool:
    return isinstance(site.source.parents.get(node), ast.Expr)


def _wanted(site: Site, value: str) -> Iterator[tuple[str, float]]:
    """Use what a failed comparison got and wanted: put the wanted piece where the got one is."""
    for got, wanted in site.hints.swaps:
        if got and got in value:
            yield value.replace(got, wanted), 0.9
        if wanted and not got:
            yield value + wanted, 0.5
            yield wanted + value, 0.45
        if value and value in got:
            before, _, after = got.partition(value)
            if wanted.startswith(before) and wanted.endswith(after):
                yield wanted[len(before) : len(wanted) - len(after)], 0.9
    for wanted in site.hints.strings:
        if wanted != value:
            yield wanted, 0.3 if abs(len(wanted) - len(value)) <= 6 else 0.15
    for size in (1, 2, 3):
        if len(value) > 2 * size:
            yield value[size:-size], 0.3 if size <= 2 else 0.15
    if len(value) > 1:
        yield value[1:], 0.2
        yield value[:-1], 0.2


def _cased(value: str) -> Iterator[tuple[str, float]]:
    yield value.lower(), 0.6
    yield value.upper(), 0.4
    yield value.capitalize(), 0.3
    yield value.title(), 0.25
    yield value.swapcase(), 0.25
    yield value.strip(), 0.3
    yield "", 0.35
    yield " ", 0.2
    yield value + " ", 0.15
    yield " " + value, 0.15


def _like(text: str, value: str) -> str:
    """Write a value with the quotes and the prefix of another literal, where that is exact."""
    body = text.lstrip("rRbBuUfF")
    prefix = text[: len(text) - len(body)]
    for size in (3, 1):
        quote = body[:size]
        if quote in {'"""', "'''", '"', "'"} and body.endswith(quote):
            plain = quote not in value and "\\" not in value and value.isprintable()
            candidate = f"{prefix}{quote}{value}{quote}"
            if plain or "r" in prefix.lower():
                try:
                    if ast.literal_eval(candidate) == value:
                        return candidate
                except (SyntaxError, ValueError):
                    pass
            break
    return repr(value)


def patterns(site: Site) -> Iterator[Edit]:
    """Small changes inside a pattern or format: a quantifier, an anchor, a letter's case."""
    for node in site.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        text = site.text(node)
        if _is_document(site, node) or not 1 < len(text) <= 120 or "\n" in text:
            continue
        start = site.source.span(node)[0]
        for index, char in enumerate(text):
            if index == 0 or index >= len(text) - 1:
                continue
            at = start + index
            if char.isalpha():
                yield site.change(at, at + 1, char.swapcase(), "letter", 0.12)
            for new in _SIGNS.get(char, ()):
                yield site.change(at, at + 1, new, "pattern", 0.14)


_SIGNS = {
    "+": ("*", "?", ""),
    "*": ("+", "?", ""),
    "?": ("*", "+", ""),
    "^": ("",),
    "$": ("",),
    "-": ("_", " ", ""),
    "_": ("-", " ", ""),
    ",": (", ", ";", ""),
    ".": (",", ""),
    " ": ("",),
    "0": ("1",),
    "1": ("0", "2"),
}
