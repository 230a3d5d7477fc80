"""Whole expressions from elsewhere in the file: what is missing here often stands there."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from bridle.repair.operators.names import alike
from bridle.repair.operators.site import LONGEST, callee, last_name, ordered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

POOL = 14


def assigned_values(site: Site) -> Iterator[Edit]:
    """What the same name gets elsewhere; an attribute from the parameter of its name."""
    node = site.node
    if isinstance(node, ast.Assign):
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target, value = node.target, node.value
    else:
        return
    own = site.text(value)
    name = last_name(target)
    blank = isinstance(value, ast.Constant) and value.value in (None, "")
    scale = 1.0 if blank else 0.5
    found: dict[str, float] = {}
    for text in ordered(site.vocabulary.assigned.get(name, Counter()), limit=POOL):
        found[text] = 0.6
    for local in ordered(site.local_names, limit=POOL):
        near = alike(local, name.lstrip("_"))
        if local != name:
            found.setdefault(local, 0.3 + (0.6 if near == 1 else 0.25 * near))
    for text, weight in _expressions(site).items():
        found.setdefault(text, weight)
    for text, weight in found.items():
        if text != own:
            yield site.replace(value, text, "assigned value", weight * scale)


def _expressions(site: Site) -> dict[str, float]:
    """Calls, attributes and sums of the enclosing function, then of the file."""
    pool: Counter[str] = Counter()
    near: Counter[str] = Counter()
    function = site.function
    first = function.lineno if function is not None else 0
    last = (function.end_lineno or first) if function is not None else -1
    for line, text in site.vocabulary.expressions:
        (near if first <= line <= last else pool)[text] += 1
    found = dict.fromkeys(ordered(near, limit=2 * POOL), 0.22)
    for text in ordered(pool, limit=POOL):
        found.setdefault(text, 0.08)
    return found


def argument_values(site: Site) -> Iterator[Edit]:
    """What other calls of the same function pass; for `None`, any expression at hand."""
    for node in site.nodes:
        if not isinstance(node, ast.Call):
            continue
        for index, arg in enumerate(node.args):
            for text, weight in _arguments(site, node, index, arg).items():
                yield site.replace(arg, text, "argument", weight)
        for keyword in node.keywords:
            if keyword.arg is None:
                continue
            for text, weight in _keyword_values(site, keyword.arg, keyword.value).items():
                yield site.replace(keyword.value, text, "argument", weight)


def _keyword_values(site: Site, name: str, value: ast.expr) -> dict[str, float]:
    found: dict[str, float] = {}
    if name in site.local_names:
        found[name] = 0.7
    for base in ("self", "cls"):
        for own in (name, f"_{name}"):
            if own in site.vocabulary.by_base.get(base, ()):
                found[f"{base}.{own}"] = 0.5
    found.update(_if_blank(site, value, found))
    own_text = site.text(value)
    return {text: weight for text, weight in found.items() if text != own_text}


def _arguments(site: Site, node: ast.Call, index: int, arg: ast.expr) -> dict[str, float]:
    found: dict[str, float] = {}
    name = callee(node)
    for call in site.vocabulary.calls.get(name, ()):
        if call is not node and index < len(call.args):
            text = site.text(call.args[index])
            if len(text) <= LONGEST:
                found[text] = 0.35
    parameters = site.vocabulary.parameters.get(name, [])
    if index < len(parameters) and parameters[index] in site.local_names:
        found[parameters[index]] = 0.6
    if isinstance(arg, ast.Constant) and arg.value is None:
        for text in _members(site, found):
            found.setdefault(text, 0.25)
    found.update(_if_blank(site, arg, found))
    own = site.text(arg)
    return {text: weight for text, weight in found.items() if text != own}


def _members(site: Site, given: Iterable[str]) -> list[str]:
    """Other members of what calls of the same function are given: `Kind.b` beside `Kind.a`."""
    bases = {base for text in given for base, dot, _ in [text.partition(".")] if dot}
    return [
        f"{base}.{member}"
        for base in sorted(bases)
        for member in ordered(site.vocabulary.by_base.get(base, Counter()), limit=2 * POOL)
    ]


def _if_blank(site: Site, value: ast.expr, known: dict[str, float]) -> dict[str, float]:
    """More choices where the value says nothing."""
    if not (isinstance(value, ast.Constant) and value.value is None):
        return {}
    found: dict[str, float] = {}
    for index, local in enumerate(ordered(site.local_names, limit=POOL)):
        found[local] = 0.45 * 0.95**index
    for text, weight in _expressions(site).items():
        found.setdefault(text, 1.3 * weight)
    for text in ordered(site.vocabulary.strings, limit=POOL):
        found.setdefault(text, 0.15)
    for name in ordered(site.global_names, limit=POOL):
        found.setdefault(name, 0.15)
    return {text: weight for text, weight in found.items() if text not in known}


def returned_values(site: Site) -> Iterator[Edit]:
    """Another expression of the function in a `return`, a `yield`, a lambda or a branch."""
    values: list[ast.expr] = []
    if isinstance(site.node, ast.Return) and site.node.value is not None:
        values.append(site.node.value)
    for node in site.nodes:
        if isinstance(node, ast.Lambda):
            values.append(node.body)
            for arg in node.args.args:
                yield site.replace(node.body, arg.arg, "lambda", 0.35)
                yield site.replace(node.body, f"not {arg.arg}", "lambda", 0.1)
                for other in ("[0]", "[1]", "()"):
                    yield site.replace(node.body, arg.arg + other, "lambda", 0.2)
        elif isinstance(node, ast.IfExp):
            values += [node.body, node.orelse]
        elif isinstance(node, ast.Yield) and node.value is not None:
            values.append(node.value)
    pool = _expressions(site)
    for local in ordered(site.local_names, limit=POOL):
        pool.setdefault(local, 0.25)
    for value in values:
        blank = isinstance(value, ast.Constant) and value.value is None
        for text, weight in pool.items():
            if text != site.text(value):
                yield site.replace(value, text, "returned value", weight * (1.2 if blank else 0.6))
