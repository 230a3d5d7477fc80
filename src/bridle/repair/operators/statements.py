"""Statements: deleted, moved, returned, guarded; `break` for `continue`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

from bridle.repair.operators.site import ordered
from bridle.repair.source import Definition, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

GUARDS = 5


def jumps(site: Site) -> Iterator[Edit]:
    """`break`, `continue`, `pass`, `return` for one another."""
    names = {ast.Break: "break", ast.Continue: "continue", ast.Pass: "pass"}
    kind = next((name for node, name in names.items() if isinstance(site.node, node)), None)
    if kind is None:
        return
    for other in ("break", "continue", "pass", "return"):
        if other != kind:
            yield site.replace(site.node, other, "jump", 0.95 if other != "pass" else 0.5)


def returns(site: Site) -> Iterator[Edit]:
    """A value that is computed but not returned, `yield` for `return`, the wrong value returned."""
    node = site.node
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Yield):
            value = site.text(node.value.value) if node.value.value else "None"
            yield site.replace(node, f"return {value}", "yield", 0.4)
            yield site.replace(node, f"yield from {value}", "yield", 0.4)
        elif isinstance(node.value, ast.YieldFrom):
            yield site.replace(node, f"yield {site.text(node.value.value)}", "yield", 0.5)
        elif not isinstance(node.value, ast.Constant) and site.function is not None:
            start = site.source.span(node)[0]
            yield site.change(start, start, "return ", "missing return", 0.5)
            yield site.change(start, start, "yield ", "yield", 0.15)
    elif isinstance(node, ast.Return):
        yield from _returned(site, node)
    elif isinstance(node, ast.Assign) and site.function is not None and _is_last(site, node):
        for target in node.targets:
            yield from inserted(site, node, f"return {site.text(target)}", "missing return", 0.35)


def _returned(site: Site, node: ast.Return) -> Iterator[Edit]:
    for name in ordered(site.local_names, limit=8):
        if node.value is None:
            yield site.replace(node, f"return {name}", "returned value", 0.35)
    if node.value is None:
        for value in ("True", "False", "0", "[]", "''"):
            yield site.replace(node, f"return {value}", "returned value", 0.25)
        return
    value = site.text(node.value)
    yield site.replace(node, f"yield {value}", "yield", 0.2)
    yield site.replace(node, f"yield from {value}", "yield", 0.15)
    if isinstance(node.value, ast.Constant | ast.Name):
        for name in ("None", "True", "False"):
            yield site.replace(node.value, name, "returned value", 0.25)


def _is_last(site: Site, node: ast.stmt) -> bool:
    block = site.source.block_of(node)
    return block is not None and block[-1] is node


def inserted(
    site: Site, node: ast.stmt, text: str, kind: str, weight: float, *, before: bool = False
) -> Iterator[Edit]:
    """Put a new statement on a line of its own next to another one."""
    if not site.source.begins_line(node) or node.end_lineno is None:
        return
    indent = site.source.indent(node)
    body = "\n".join(indent + line for line in text.split("\n")) + "\n"
    line = node.lineno if before else node.end_lineno + 1
    if before and isinstance(node, Definition) and node.decorator_list:
        line = min(d.lineno for d in node.decorator_list)
    at = site.source.line_start(line)
    if at and site.source.text[at - 1] not in "\r\n":
        body = "\n" + body
    yield site.change(at, at, body, kind, weight)


def deletions(site: Site) -> Iterator[Edit]:
    """A statement too many; the body of a compound one without its header."""
    node = site.node
    if not isinstance(node, ast.stmt) or isinstance(node, Definition | ast.Pass):
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        return
    simple = not hasattr(node, "body")
    if simple and _is_expression(node):
        return
    weight = 0.35 if simple else 0.2
    if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
        weight = 0.3
    yield site.replace(node, "pass", "extra statement", weight)
    if isinstance(node, ast.If) and not node.orelse and site.source.begins_line(node):
        yield from _unindented(site, node)


def _is_expression(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _unindented(site: Site, node: ast.If) -> Iterator[Edit]:
    first, last = node.body[0], node.body[-1]
    if first.lineno == node.lineno or last.end_lineno is None:
        return
    outer, inner = site.source.indent(node), site.source.indent(first)
    start, end = site.source.span(node)[0], site.source.span(last)[1]
    body = site.source.text[site.source.line_start(first.lineno) : end]
    flat = re.sub(rf"(?m)^{re.escape(inner)}", outer, body)
    yield site.change(start - len(outer), end, flat, "extra condition", 0.2)


def moves(site: Site) -> Iterator[Edit]:
    """Exchange with the neighbour below; move into the block above or out of the own block."""
    node = site.node
    if not isinstance(node, ast.stmt) or not site.source.begins_line(node):
        return
    block = site.source.block_of(node)
    if block is None or node.end_lineno is None or isinstance(node, Definition):
        return
    index = block.index(node)
    if index + 1 < len(block):
        below = block[index + 1]
        if not isinstance(below, Definition) and below.lineno > node.end_lineno:
            start, end = site.source.span(node)[0], site.source.span(below)[1]
            between = site.source.text[site.source.span(node)[1] : site.source.span(below)[0]]
            new = site.text(below) + between + site.text(node)
            yield site.change(start, end, new, "order", 0.25)
    if hasattr(node, "body"):
        return
    yield from _into(site, node, block, index)
    yield from _out(site, node, block, index)


def _into(site: Site, node: ast.stmt, block: list[ast.stmt], index: int) -> Iterator[Edit]:
    above = block[index - 1] if index else None
    inner = getattr(above, "body", None)
    if above is None or not inner or isinstance(above, Definition):
        return
    deepest = (getattr(above, "orelse", None) or inner)[-1]
    if site.source.begins_line(deepest):
        start = site.source.line_start(node.lineno)
        own = site.source.indent(node)
        new = site.source.indent(deepest)
        yield site.change(start, start + len(own), new, "indentation", 0.3)


def _out(site: Site, node: ast.stmt, block: list[ast.stmt], index: int) -> Iterator[Edit]:
    parent = site.source.parents.get(node)
    if (
        index != len(block) - 1
        or not isinstance(parent, ast.stmt)
        or isinstance(parent, Definition)
    ):
        return
    if site.source.begins_line(parent) and len(block) > 1:
        start = site.source.line_start(node.lineno)
        own, outer = site.source.indent(node), site.source.indent(parent)
        yield site.change(start, start + len(own), outer, "indentation", 0.3)


def guards(site: Site) -> Iterator[Edit]:
    """A missing early end: return, skip or raise when an argument is empty, None or zero."""
    node = site.node
    function = site.function
    if not isinstance(node, ast.stmt) or function is None or not site.source.begins_line(node):
        return
    names = Counter({n: c for n, c in site.local_names.items() if n in _names(node)})
    values = _return_values(site, function)
    in_loop = site.source.enclosing(node, ast.For | ast.While) is not None
    for name in ordered(names, limit=GUARDS):
        for test, share in ((f"not {name}", 1.0), (f"{name} is None", 0.8), (f"{name} == 0", 0.3)):
            for index, value in enumerate(values):
                text = f"if {test}:\n    return{value and ' ' + value}"
                weight = 0.16 * share * 0.8**index
                yield from inserted(site, node, text, "missing guard", weight, before=True)
            if in_loop:
                text = f"if {test}:\n    continue"
                yield from inserted(site, node, text, "missing guard", 0.15 * share, before=True)


def _names(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _return_values(site: Site, function: Function) -> list[str]:
    found: Counter[str] = Counter()
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            text = site.text(node.value)
            if len(text) < 40:
                found[text] += 1
    usual = ["", "None", "False", "True", "0", "[]", "''", "{}"]
    return [*ordered(found, limit=4), *(v for v in usual if v not in found)]


def additions(site: Site) -> Iterator[Edit]:
    """A statement that is missing after this one: the end of a branch, a step of a loop."""
    node = site.node
    function = site.function
    if not isinstance(node, ast.stmt) or function is None or isinstance(node, Definition):
        return
    if hasattr(node, "body") or isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return
    if _is_last(site, node) and site.source.enclosing(node, ast.For | ast.While) is not None:
        for word in ("break", "continue"):
            yield from inserted(site, node, word, "missing jump", 0.2)
    if _is_last(site, node):
        for name in ordered(site.local_names, limit=4):
            yield from inserted(site, node, f"return {name}", "missing return", 0.15)
    for name in ordered(site.local_names, limit=4):
        for step in ("+= 1", "-= 1"):
            yield from inserted(site, node, f"{name} {step}", "missing step", 0.06)
