"""Comparisons: the wrong operator, the wrong boundary, `is` for `==`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from bridle.repair.operators.site import last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
LIKELY: dict[str, dict[str, float]] = {
    "<": {"<=": 1.0, ">": 0.8, ">=": 0.8, "!=": 0.4, "==": 0.4},
    "<=": {"<": 1.0, ">=": 0.8, ">": 0.8, "==": 0.5, "!=": 0.3},
    ">": {">=": 1.0, "<": 0.8, "<=": 0.8, "!=": 0.4, "==": 0.4},
    ">=": {">": 1.0, "<=": 0.8, "<": 0.8, "==": 0.5, "!=": 0.3},
    "==": {"!=": 1.0, ">=": 0.6, "<=": 0.6, "is": 0.5, "in": 0.5, "<": 0.45, ">": 0.45},
    "!=": {"==": 1.0, "<": 0.6, ">": 0.6, "is not": 0.5, "not in": 0.5, "<=": 0.4, ">=": 0.4},
    "is": {"is not": 1.0, "==": 0.8, "in": 0.3, "!=": 0.3},
    "is not": {"is": 1.0, "!=": 0.8, "not in": 0.3, "==": 0.3},
    "in": {"not in": 1.0, "==": 0.5, "!=": 0.25},
    "not in": {"in": 1.0, "!=": 0.5, "==": 0.25},
}
UNLIKELY = 0.2
IDENTITY = {"==": 0.9, "!=": 0.85, "<": 0.5, ">": 0.5, "<=": 0.45, ">=": 0.45, "in": 0.5}
"""What was meant where values are compared by identity that are not usually single."""
ORDER = {"<", "<=", ">", ">="}


def comparison_operator(site: Site) -> Iterator[Edit]:
    """Every other comparison, the near ones first."""
    for node in site.nodes:
        if not isinstance(node, ast.Compare):
            continue
        left: ast.expr = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            symbol = SYMBOLS[type(op)]
            place = site.token(left, right, symbol)
            left_of, left = left, right
            if place is None:
                continue
            for other in SYMBOLS.values():
                if other == symbol:
                    continue
                weight = LIKELY[symbol].get(other, UNLIKELY)
                if _is_none(left_of) or _is_none(right):
                    weight = {"is": 1.0, "is not": 1.0}.get(other, weight * 0.6)
                elif symbol in {"is", "is not"} and not _is_single(right):
                    weight = IDENTITY.get(other, weight)
                yield site.change(*place, other, "comparison", weight)


def _is_single(node: ast.expr) -> bool:
    """Tell what is usually compared by identity: constants, classes, sentinels."""
    if isinstance(node, ast.Constant):
        return node.value in (None, True, False, ...) and not isinstance(node.value, int | float)
    name = last_name(node)
    return isinstance(node, ast.Name) and (name.isupper() or name[:1].isupper())


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def comparison_operands(site: Site) -> Iterator[Edit]:
    """One off at the boundary; sides exchanged; one side dropped; compared by length."""
    for node in site.nodes:
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        right = node.comparators[0]
        symbol = SYMBOLS[type(node.ops[0])]
        if symbol in ORDER or symbol in {"==", "!="}:
            for side in (right, node.left):
                if isinstance(side, ast.Constant):
                    continue
                for change in ("+ 1", "- 1"):
                    new = f"{site.operand(side)} {change}"
                    weight = 0.45 if symbol in ORDER else 0.25
                    yield site.replace(side, new, "boundary", weight)
                if symbol in ORDER or isinstance(right, ast.Constant):
                    yield site.replace(side, f"len({site.text(side)})", "boundary", 0.15)
        if symbol in {"in", "not in"}:
            swapped = f"{site.operand(right)} {symbol} {site.operand(node.left)}"
            yield site.replace(node, swapped, "comparison", 0.3)
        yield site.replace(node, site.fitted(site.text(node.left), node), "condition", 0.15)
