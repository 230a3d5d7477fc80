"""Conditions: negated, missing or extra parts, `and` for `or`."""

from __future__ import annotations

import ast
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from bridle.repair.operators.site import ordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

EXTRA = 8


def and_or(site: Site) -> Iterator[Edit]:
    """`and` for `or`; one part dropped."""
    for node in site.nodes:
        if not isinstance(node, ast.BoolOp):
            continue
        symbol = "and" if isinstance(node.op, ast.And) else "or"
        other = "or" if symbol == "and" else "and"
        for left, right in pairwise(node.values):
            place = site.token(left, right, symbol)
            if place is not None:
                yield site.change(*place, other, "boolean", 0.95)
        for index, part in enumerate(node.values):
            rest = [site.text(v) for i, v in enumerate(node.values) if i != index]
            yield site.replace(node, site.fitted(f" {symbol} ".join(rest), node), "condition", 0.4)
            yield site.replace(part, f"not {site.operand(part)}", "negation", 0.55)


def negated(site: Site) -> Iterator[Edit]:
    """A condition turned round, or one that always or never holds."""
    for node in site.nodes:
        test = _test(node)
        if test is None:
            continue
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield site.replace(test, site.text(test.operand), "negation", 0.95)
        else:
            yield site.replace(test, f"not {site.operand(test)}", "negation", 0.9)
        yield site.replace(test, "True", "condition", 0.15)
        yield site.replace(test, "False", "condition", 0.15)


def _test(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return node.test
    if isinstance(node, ast.match_case):
        return node.guard
    return None


def filters(site: Site) -> Iterator[Edit]:
    """Conditions of comprehensions: negated, dropped, added; `not` before any boolean value."""
    for node in site.nodes:
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for part in node.generators:
                for test in part.ifs:
                    yield site.replace(test, f"not {site.operand(test)}", "negation", 0.8)
                    yield site.replace(test, "True", "condition", 0.3)
                if not part.ifs and isinstance(part.target, ast.Name):
                    end = site.source.span(part.iter)[1]
                    for test_text in (part.target.id, f"{part.target.id} is not None"):
                        yield site.change(end, end, f" if {test_text}", "condition", 0.2)
        if isinstance(node, ast.Compare | ast.Call | ast.Name | ast.Attribute):
            parent = site.source.parents.get(node)
            if isinstance(parent, ast.Return | ast.Assign | ast.keyword) or (
                isinstance(parent, ast.Call) and node in parent.args
            ):
                weight = 0.5 if isinstance(node, ast.Compare) else 0.2
                yield site.replace(node, f"not {site.operand(node)}", "negation", weight)


def exchanged_branches(site: Site) -> Iterator[Edit]:
    """`a if t else b` with the branches exchanged, or only one of them."""
    for node in site.nodes:
        if isinstance(node, ast.IfExp):
            test = site.text(node.test)
            new = f"{site.text(node.orelse)} if {test} else {site.text(node.body)}"
            yield site.replace(node, new, "branches", 0.6)
            for part in (node.body, node.orelse):
                yield site.replace(node, site.fitted(site.text(part), node), "branches", 0.25)


def widened(site: Site) -> Iterator[Edit]:
    """A missing part of a condition, taken from conditions and names of the same function."""
    if not isinstance(site.node, ast.If | ast.While) or site.function is None:
        return
    test = site.node.test
    own = site.text(test)
    pool: Counter[str] = Counter()
    for node in ast.walk(site.function):
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            pool[site.text(node.test)] += 2
        elif isinstance(node, ast.Compare):
            pool[site.text(node)] += 1
    parts = [text for text in pool if "\n" not in text and len(text) < 60]
    choices = ordered(Counter({t: pool[t] for t in parts}), but=[own], limit=EXTRA)
    for name in ordered(site.local_names, limit=EXTRA):
        choices += [name, f"{name} is not None", f"{name} is None"]
    base = site.operand(test)
    for choice in choices:
        for symbol in ("and", "or"):
            weight = 0.14 if symbol == "and" else 0.12
            yield site.replace(test, f"{base} {symbol} {choice}", "missing condition", weight)
            yield site.replace(
                test, f"{base} {symbol} not ({choice})", "missing condition", weight / 2
            )
