"""Calls: arguments exchanged, missing, extra or wrong; a call too many or too few."""

from __future__ import annotations

import ast
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from bridle.repair.operators.names import alike
from bridle.repair.operators.orphans import nearest, unread
from bridle.repair.operators.site import callee, ordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

WRAPPERS = ("str", "int", "list", "len", "abs", "tuple", "set", "sorted", "float", "iter", "bool")
METHODS = (".strip()", ".lower()", ".copy()", ".upper()", ".items()", ".values()", ".keys()")
PARTS = 10


def exchanged_arguments(site: Site) -> Iterator[Edit]:
    """Two neighbouring arguments the other way round; elements of a tuple too."""
    for node in site.nodes:
        if isinstance(node, ast.Call | ast.Tuple):
            parts = node.args if isinstance(node, ast.Call) else node.elts
            for one, other in pairwise(parts):
                start, end = site.source.span(one)[0], site.source.span(other)[1]
                between = site.source.text[site.source.span(one)[1] : site.source.span(other)[0]]
                new = site.text(other) + between + site.text(one)
                yield site.change(start, end, new, "exchanged arguments", 0.35)


def dropped_arguments(site: Site) -> Iterator[Edit]:
    """An argument or element too many."""
    for node in site.nodes:
        if isinstance(node, ast.Call):
            parts: list[ast.AST] = [*node.args, *node.keywords]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = list(node.elts)
        else:
            continue
        spans = sorted(site.source.span(part) for part in parts)
        if isinstance(node, ast.Tuple) and len(spans) < 3:
            continue
        for index, (start, end) in enumerate(spans):
            if index + 1 < len(spans):
                end = spans[index + 1][0]
            elif index:
                start = spans[index - 1][1]
            yield site.change(start, end, "", "extra argument", 0.25)


def added_arguments(site: Site) -> Iterator[Edit]:
    """An argument too few: as other calls of the same function have it, or a name in scope."""
    for node in site.nodes:
        if not isinstance(node, ast.Call):
            continue
        name = callee(node)
        have = {k.arg for k in node.keywords}
        for keyword, weight in _keywords(site, name).items():
            if keyword not in have:
                for value, share in _values(site, name, keyword).items():
                    yield from _insert(site, node, f"{keyword}={value}", weight * share)
        for text, weight in _by_analogy(site, node).items():
            yield from _insert(site, node, text, weight)
        yield from _by_parameter(site, node, name)
        for text, weight in _positional(site, node, name).items():
            for place in range(len(node.args) + 1):
                late = place == len(node.args)
                yield from _insert(site, node, text, weight * (1 if late else 0.7), place=place)


def _keywords(site: Site, name: str) -> dict[str, float]:
    found = dict.fromkeys(site.vocabulary.keywords.get(name, ()), 0.5)
    for parameter in site.vocabulary.parameters.get(name, ()):
        found.setdefault(parameter, 0.35)
    if not found:
        pool: Counter[str] = Counter()
        for counter in site.vocabulary.keywords.values():
            pool.update(counter)
        found = dict.fromkeys(ordered(pool, limit=6), 0.12)
    return found


def _by_analogy(site: Site, node: ast.Call) -> dict[str, float]:
    """`c=c` where the others are `a=a, b=b`; `c=self.c` where they are `a=self.a`."""
    have = {k.arg for k in node.keywords if k.arg}
    pairs = [(k.arg, site.text(k.value)) for k in node.keywords if k.arg]
    found: dict[str, float] = {}
    if any(name == value for name, value in pairs):
        for index, name in enumerate(n for n in nearest(site) if n not in have):
            found[f"{name}={name}"] = 0.5 * 0.95**index
    for base in ("self", "cls"):
        if any(value == f"{base}.{name}" for name, value in pairs):
            known = site.vocabulary.by_base.get(base, Counter())
            for index, name in enumerate(n for n in ordered(known, limit=30) if n not in have):
                found[f"{name}={base}.{name}"] = 0.5 * 0.95**index
    return found


def _values(site: Site, name: str, keyword: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for function, calls in site.vocabulary.calls.items():
        given = [k.value for call in calls for k in call.keywords if k.arg == keyword]
        for value in given:
            share = 1.0 if function == name else 0.6
            found[site.text(value)] = max(share, found.get(site.text(value), 0.0))
    if keyword in site.local_names or keyword in site.global_names:
        found[keyword] = 1.0
    attr = site.vocabulary.by_base.get("self", Counter())
    for own in (keyword, f"_{keyword}"):
        if own in attr:
            found[f"self.{own}"] = 0.9
    for text in ("True", "False", "None"):
        found.setdefault(text, 0.4)
    for text in ordered(site.local_names, limit=6):
        found.setdefault(text, 0.3)
    return {text: found[text] for text in list(found)[:PARTS]}


def _positional(site: Site, node: ast.Call, name: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for call in site.vocabulary.calls.get(name, ()):
        if call is not node:
            texts = (site.text(arg) for arg in call.args)
            found.update((text, 0.4) for text in texts if len(text) < 60)
    given = {site.text(arg) for arg in node.args}
    found.update((unused, 0.7) for unused in unread(site))
    for index, local in enumerate(ordered(site.local_names, limit=PARTS)):
        found.setdefault(local, (0.12 if local in given else 0.3) * 0.95**index)
    for index, local in enumerate(nearest(site)[:PARTS]):
        found.setdefault(local, 0.3 * 0.95**index)
    for text in ("None", "True", "False", "1", "0"):
        found.setdefault(text, 0.12)
    for text, weight in _at_hand(site).items():
        if len(found) < 4 * PARTS:
            found.setdefault(text, weight)
    return found


def _by_parameter(site: Site, node: ast.Call, name: str) -> Iterator[Edit]:
    """The name of a parameter of the function, where it is in scope and not given."""
    given = {site.text(arg) for arg in node.args}
    parameters = site.vocabulary.parameters.get(name, [])
    for place, parameter in enumerate(parameters[: len(node.args) + 1]):
        if parameter in site.local_names and parameter not in given:
            yield from _insert(site, node, parameter, 0.75, place=place)


def _at_hand(site: Site) -> dict[str, float]:
    """Expressions of the function, then short texts of the file."""
    found: dict[str, float] = {}
    if site.function is not None:
        first, last = site.function.lineno, site.function.end_lineno or 0
        for line, text in site.vocabulary.expressions:
            if first <= line <= last:
                found[text] = 0.13
    for text in site.vocabulary.strings:
        if len(text) < 12:
            found.setdefault(text, 0.06)
    return found


def _insert(
    site: Site, node: ast.Call, text: str, weight: float, *, place: int | None = None
) -> Iterator[Edit]:
    end = site.source.span(node)[1] - 1
    if site.source.text[end : end + 1] != ")":
        return
    if place is not None and place < len(node.args):
        start = site.source.span(node.args[place])[0]
        yield site.change(start, start, f"{text}, ", "missing argument", weight)
        return
    parts: list[ast.AST] = [*node.args, *node.keywords]
    if place is not None:
        parts = list(node.args)
        if node.keywords and not parts:
            start = site.source.span(node.keywords[0])[0]
            yield site.change(start, start, f"{text}, ", "missing argument", weight)
            return
    if not parts:
        yield site.change(end, end, text, "missing argument", weight)
        return
    last = max(site.source.span(part)[1] for part in parts)
    if len(parts) == 1 and isinstance(parts[0], ast.GeneratorExp):
        return
    yield site.change(last, last, f", {text}", "missing argument", weight)


def keyword_names(site: Site) -> Iterator[Edit]:
    """The right value under the wrong keyword."""
    for node in site.nodes:
        if not isinstance(node, ast.Call):
            continue
        known = list(_keywords(site, callee(node)))
        for given in node.keywords:
            if given.arg is None:
                continue
            start = site.source.span(given)[0]
            for other in known:
                if other != given.arg:
                    weight = 0.15 + 0.2 * alike(given.arg, other)
                    end = start + len(given.arg)
                    yield site.change(start, end, other, "keyword", weight)


def unwrapped(site: Site) -> Iterator[Edit]:
    """A call too many: its argument or its object stands for itself."""
    for node in site.nodes:
        if isinstance(node, ast.Call):
            for arg in node.args[:2]:
                if not isinstance(arg, ast.Starred):
                    yield site.replace(node, site.fitted(site.text(arg), node), "extra call", 0.25)
            if isinstance(node.func, ast.Attribute):
                yield site.replace(node, site.text(node.func.value), "extra call", 0.25)
            if not node.args and not node.keywords:
                yield site.replace(node, site.text(node.func), "extra call", 0.2)
        elif isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load):
            yield site.replace(node, site.text(node.value), "star", 0.3)
        elif isinstance(node, ast.Await):
            yield site.replace(node, site.text(node.value), "await", 0.1)


def wrapped(site: Site) -> Iterator[Edit]:
    """A call too few: a conversion, a method, or a function that the file calls so elsewhere."""
    own = [
        n
        for n, calls in site.vocabulary.calls.items()
        if n and any(len(c.args) == 1 for c in calls)
    ]
    common = Counter({n: len(site.vocabulary.calls[n]) for n in own if n in site.global_names})
    functions = [*WRAPPERS, *ordered(common, but=WRAPPERS, limit=PARTS)]
    for node in site.nodes:
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BinOp):
            continue
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            continue
        parent = site.source.parents.get(node)
        if isinstance(parent, ast.Attribute) or (
            isinstance(parent, ast.Call) and parent.func is node
        ):
            continue
        text = site.text(node)
        for function in functions:
            yield site.replace(node, f"{function}({text})", "missing call", 0.12)
        for method in METHODS:
            yield site.replace(node, site.operand(node) + method, "missing call", 0.1)
        if isinstance(node, ast.Name | ast.Attribute):
            yield site.replace(node, f"{text}()", "missing call", 0.12)
