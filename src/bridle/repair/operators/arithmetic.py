"""Arithmetic: the wrong operator, operands the wrong way round, a lost or extra sign."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.MatMult: "@",
}
COMMON = {
    "+": 0.8,
    "-": 0.65,
    "*": 0.55,
    "%": 0.45,
    "/": 0.45,
    "//": 0.4,
    "|": 0.35,
    "&": 0.35,
    "**": 0.3,
    "<<": 0.25,
    ">>": 0.25,
    "^": 0.22,
}
"""How usual an operator is in Python code: what a wrong one was meant to be."""
NEAR = {
    ("+", "-"): 0.9,
    ("*", "/"): 0.75,
    ("/", "//"): 0.9,
    ("//", "%"): 0.8,
    ("*", "**"): 0.7,
    ("<<", ">>"): 0.8,
    ("|", "&"): 0.9,
    ("^", "**"): 0.6,
    ("|", "+"): 0.6,
}
"""Operators that are easily taken for one another, either way."""
TEXT = {"%": 0.95, "+": 0.9, "*": 0.7}
"""What may follow a text: anything else is an error already."""
ASSIGNABLE = (ast.Name, ast.Attribute, ast.Subscript)


def binary_operator(site: Site) -> Iterator[Edit]:
    """Every other operator, the near ones first."""
    for node in site.nodes:
        if not isinstance(node, ast.BinOp):
            continue
        symbol = SYMBOLS[type(node.op)]
        place = site.token(node.left, node.right, symbol)
        if place is None:
            continue
        for other in SYMBOLS.values():
            if other not in {symbol, "@"}:
                weight = _likely(symbol, other, text=_is_text(node.left))
                yield site.change(*place, other, "arithmetic", weight)


def _likely(symbol: str, other: str, *, text: bool = False) -> float:
    if text:
        return TEXT.get(other, 0.05)
    near = NEAR.get((symbol, other), NEAR.get((other, symbol), 0.0))
    return max(near, COMMON[other])


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def operands(site: Site) -> Iterator[Edit]:
    """Operands exchanged, or one of them dropped."""
    for node in site.nodes:
        if not isinstance(node, ast.BinOp):
            continue
        symbol = SYMBOLS[type(node.op)]
        left, right = site.operand(node.left), site.operand(node.right)
        if symbol != "*":
            yield site.replace(node, f"{right} {symbol} {left}", "operands", 0.35)
        yield site.replace(node, site.fitted(site.text(node.left), node), "operands", 0.3)
        yield site.replace(node, site.fitted(site.text(node.right), node), "operands", 0.25)


def unary_operator(site: Site) -> Iterator[Edit]:
    """A sign or `not` removed, exchanged or added."""
    for node in site.nodes:
        if isinstance(node, ast.UnaryOp):
            inner = site.text(node.operand)
            yield site.replace(node, inner, "unary", 0.8)
            start = site.source.span(node)[0]
            current = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}[type(node.op)]
            for other in ("-", "not ", "~", "+"):
                if other.strip() != current:
                    end = start + len(current)
                    yield site.change(start, end, other, "unary", 0.5 if other == "-" else 0.3)
        elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.Call):
            yield from _signed(site, node)


def _signed(site: Site, node: ast.expr) -> Iterator[Edit]:
    parent = site.source.parents.get(node)
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            return
        if isinstance(parent, ast.UnaryOp):
            return
        weight = 0.6 if node.value == 1 else 0.4
        yield site.replace(node, f"-{site.text(node)}", "unary", weight)
        return
    if isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is node):
        return
    arithmetic = isinstance(parent, ast.BinOp | ast.Return | ast.Slice | ast.Call | ast.Subscript)
    yield site.replace(node, f"-{site.text(node)}", "unary", 0.3 if arithmetic else 0.15)
    yield site.replace(node, f"~{site.text(node)}", "unary", 0.08)


def augmented_assignment(site: Site) -> Iterator[Edit]:
    """`+=` for `-=`, `=` for `+=` and the other way round."""
    node = site.node
    if isinstance(node, ast.AugAssign):
        symbol = SYMBOLS[type(node.op)]
        place = site.token(node.target, node.value, f"{symbol}=")
        if place is None:
            return
        yield site.change(*place, "=", "augmented", 0.6)
        for other in SYMBOLS.values():
            if other not in {symbol, "@"}:
                weight = _likely(symbol, other)
                yield site.change(*place, f"{other}=", "augmented", weight)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        place = site.token(target, node.value, "=")
        if place is None or not isinstance(target, ASSIGNABLE):
            return
        likely = not isinstance(node.value, ast.Constant) or isinstance(node.value.value, int)
        for other in ("+", "-", "*", "|", "//", "%", "/", "&", "<<", ">>", "**", "^"):
            weight = (0.6 if other == "+" else 0.3) if likely else 0.1
            yield site.change(*place, f"{other}=", "augmented", weight)
