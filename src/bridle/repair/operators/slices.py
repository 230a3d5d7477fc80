"""Subscripts: index and slice bounds, one off, missing or extra; the wrong key."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from bridle.repair.operators.site import ordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit


def indexes(site: Site) -> Iterator[Edit]:
    """One off, from the other end, or no subscript at all."""
    for node in site.nodes:
        if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice):
            continue
        index = node.slice
        if not isinstance(index, ast.Constant):
            operand = site.operand(index)
            for new in (f"{operand} + 1", f"{operand} - 1"):
                yield site.replace(index, new, "index", 0.4)
        else:
            for new in ("0", "-1", "1"):
                yield site.replace(index, new, "index", 0.4)
        if isinstance(node.ctx, ast.Load):
            yield site.replace(node, site.text(node.value), "extra index", 0.2)
            if site.text(index) != ":":
                for new in (f"{site.text(index)}:", f":{site.text(index)}"):
                    yield site.replace(index, new, "slice", 0.2)


def slice_bounds(site: Site) -> Iterator[Edit]:
    """Bounds of a slice: one off, dropped, exchanged, added."""
    for node in site.nodes:
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
            continue
        part = node.slice
        lower, upper, step = (
            site.text(p) if p is not None else "" for p in (part.lower, part.upper, part.step)
        )
        for new, weight in _slices(lower, upper, step).items():
            yield site.replace(part, new, "slice", weight)
        for name in ordered(site.local_names, limit=6):
            for bounds in ((name, upper), (lower, name)):
                yield site.replace(part, _written(*bounds, step), "slice", 0.15)
        if isinstance(node.ctx, ast.Load):
            yield site.replace(node, site.text(node.value), "extra slice", 0.25)


def _slices(lower: str, upper: str, step: str) -> dict[str, float]:
    found: dict[str, float] = {}

    def add(new_lower: str, new_upper: str, new_step: str, weight: float) -> None:
        if (new_lower, new_upper, new_step) != (lower, upper, step):
            found.setdefault(_written(new_lower, new_upper, new_step), weight)

    for change in ("+ 1", "- 1"):
        if lower:
            add(f"({lower}) {change}" if " " in lower else f"{lower} {change}", upper, step, 0.45)
        if upper:
            add(lower, f"({upper}) {change}" if " " in upper else f"{upper} {change}", step, 0.45)
    add("", upper, step, 0.4)
    add(lower, "", step, 0.4)
    add(lower, upper, "", 0.4)
    add(upper, lower, step, 0.3)
    for usual in ("1", "-1"):
        add(usual, upper, step, 0.35)
        add(lower, usual, step, 0.35)
        add(lower, upper, usual, 0.3)
    add(lower, upper, "2", 0.2)
    if lower:
        add(f"-{lower}", upper, step, 0.3)
    if upper:
        add(lower, f"-{upper}", step, 0.3)
    return found


def _written(lower: str, upper: str, step: str) -> str:
    return f"{lower}:{upper}" + (f":{step}" if step else "")


def subscripted(site: Site) -> Iterator[Edit]:
    """A subscript that is missing: the first, the last, all but one of them."""
    for node in site.nodes:
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
            continue
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            continue
        parent = site.source.parents.get(node)
        if isinstance(parent, ast.Attribute | ast.Subscript) or (
            isinstance(parent, ast.Call) and parent.func is node
        ):
            continue
        for new in ("[0]", "[-1]", "[1]", "[1:]", "[:-1]", "[::-1]", "[:]"):
            yield site.replace(node, site.text(node) + new, "missing index", 0.1)


def ranges(site: Site) -> Iterator[Edit]:
    """Bounds of `range`: one off, from zero or one, the other way round."""
    for node in site.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id not in {"range", "enumerate"} or not node.args:
            continue
        for arg in node.args:
            if not isinstance(arg, ast.Constant):
                for change in ("+ 1", "- 1"):
                    yield site.replace(arg, f"{site.operand(arg)} {change}", "range", 0.55)
        if node.func.id == "range" and len(node.args) == 1:
            only = node.args[0]
            yield site.replace(only, f"1, {site.text(only)}", "range", 0.45)
            yield site.replace(only, f"1, {site.operand(only)} + 1", "range", 0.4)
        if node.func.id == "enumerate" and len(node.args) == 1 and not node.keywords:
            end = site.source.span(node.args[0])[1]
            yield site.change(end, end, ", 1", "range", 0.4)
