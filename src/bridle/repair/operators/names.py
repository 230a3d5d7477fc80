"""Names: the wrong variable, the wrong attribute, the wrong method of a family."""

from __future__ import annotations

import ast
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from bridle.repair.operators.site import BUILTINS, ordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

FAMILIES = (
    ("append", "extend", "insert", "add", "appendleft", "update"),
    ("pop", "remove", "discard", "popleft", "clear", "popitem", "get"),
    ("lower", "upper", "title", "capitalize", "casefold", "swapcase"),
    ("strip", "lstrip", "rstrip"),
    ("removeprefix", "removesuffix"),
    ("startswith", "endswith"),
    ("find", "rfind", "index", "rindex"),
    ("split", "rsplit", "splitlines", "partition", "rpartition"),
    ("keys", "values", "items"),
    ("get", "setdefault", "pop"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("isdigit", "isalpha", "isalnum", "isdecimal", "isnumeric", "isspace", "isupper", "islower"),
    ("ljust", "rjust", "center", "zfill"),
    ("match", "search", "fullmatch"),
    ("findall", "finditer", "search"),
    ("sub", "subn"),
    ("group", "groups", "groupdict"),
    ("encode", "decode"),
    ("appendleft", "append"),
    ("min", "max", "sum"),
    ("any", "all"),
    ("sorted", "reversed", "list"),
    ("list", "tuple", "set", "frozenset", "dict", "iter"),
    ("int", "float", "str", "bool", "round", "repr"),
    ("floor", "ceil", "trunc"),
    ("isinstance", "issubclass"),
    ("getattr", "hasattr", "setattr"),
    ("zip", "zip_longest", "enumerate"),
    ("map", "filter", "starmap"),
    ("chr", "ord"),
    ("year", "month", "day", "hour", "minute", "second", "microsecond"),
    ("days", "seconds", "microseconds", "minutes", "hours"),
    ("__enter__", "__exit__"),
)
RELATED: dict[str, list[str]] = {}
for _family in FAMILIES:
    for _name in _family:
        RELATED.setdefault(_name, []).extend(n for n in _family if n != _name)
VARIABLES = 14
ATTRIBUTES = 10


def variables(site: Site) -> Iterator[Edit]:
    """Another variable in scope, the similar and the often used first."""
    for node in site.nodes:
        if not isinstance(node, ast.Name):
            continue
        if isinstance(node.ctx, ast.Store):
            yield from _targets(site, node)
            continue
        called = _is_called(site, node)
        weights = _choices(site, node.id, called=called)
        for new, weight in weights.items():
            yield site.replace(node, new, "variable", weight)


def _is_called(site: Site, node: ast.AST) -> bool:
    parent = site.source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _choices(site: Site, name: str, *, called: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    for other in RELATED.get(name, ()):
        if other in BUILTINS or other in site.global_names:
            found[other] = 0.5
    for index, other in enumerate(ordered(site.local_names, but=[name], limit=VARIABLES)):
        weight = (0.2 if called else 0.45) * 0.95**index
        found[other] = max(found.get(other, 0), weight * (0.7 + 0.5 * alike(name, other)))
    for index, other in enumerate(ordered(site.global_names, but=[name], limit=VARIABLES)):
        weight = (0.3 if called or name in site.global_names else 0.08) * 0.95**index
        found[other] = max(found.get(other, 0), weight * (0.7 + 0.5 * alike(name, other)))
    return found


def _targets(site: Site, node: ast.Name) -> Iterator[Edit]:
    if not isinstance(site.node, ast.Assign | ast.AugAssign | ast.For):
        return
    for index, other in enumerate(ordered(site.local_names, but=[node.id], limit=8)):
        yield site.replace(node, other, "target", 0.15 * 0.9**index)


def alike(one: str, other: str) -> float:
    """How similar two names are, from 0 to 1."""
    return SequenceMatcher(None, one, other).ratio()


def attributes(site: Site) -> Iterator[Edit]:
    """Another attribute or method: of the family, of the same object, of the file."""
    for node in site.nodes:
        if not isinstance(node, ast.Attribute):
            continue
        _, end = site.source.span(node)
        start = end - len(node.attr)
        if site.source.text[start:end] != node.attr:
            continue
        found: dict[str, float] = dict.fromkeys(RELATED.get(node.attr, ()), 0.6)
        if isinstance(node.value, ast.Name):
            same = site.vocabulary.by_base.get(node.value.id)
            if same is not None:
                for index, other in enumerate(ordered(same, but=[node.attr], limit=ATTRIBUTES)):
                    weight = 0.35 * 0.95**index * (0.7 + 0.5 * alike(node.attr, other))
                    found[other] = max(found.get(other, 0), weight)
        rest = ordered(site.vocabulary.attributes, but=[node.attr], limit=ATTRIBUTES)
        for other in rest:
            near = alike(node.attr, other)
            found.setdefault(other, 0.06 + 0.15 * near * near)
        for other, weight in found.items():
            yield site.change(start, end, other, "attribute", weight)


def owners(site: Site) -> Iterator[Edit]:
    """`self.x` for `x` and the other way round; one step too many or too few."""
    for node in site.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            base = site.text(node.value)
            if not _is_called(site, node):
                yield site.replace(node, base, "attribute", 0.2)
            if base == "self" and node.attr in site.local_names:
                yield site.replace(node, node.attr, "attribute", 0.35)
        elif isinstance(node, ast.Name) and "self" in site.local_names and node.id != "self":
            known = site.vocabulary.by_base.get("self", Counter())
            if node.id in known or f"_{node.id}" in known:
                attr = node.id if node.id in known else f"_{node.id}"
                yield site.replace(node, f"self.{attr}", "attribute", 0.35)
