"""Names that nothing uses: where an expression was lost, what it used is left behind."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from bridle.repair.operators.names import alike
from bridle.repair.operators.site import Site, last_name, ordered
from bridle.repair.source import Function, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.source import Edit

NEAREST = 12
MOST = 8
OWN = {"self", "cls", "_"}


def unread(site: Site) -> list[str]:
    """Parameters and variables of the function that it never reads."""
    function = site.function
    if function is None:
        return []
    read = _names(function, ast.Load)
    return [name for name in nearest(site) if name not in read][:MOST]


def nearest(site: Site) -> list[str]:
    """Names of the function in scope, those that stand closest to the statement first."""
    function = site.function
    if function is None:
        return []
    here: int = getattr(site.node, "lineno", function.lineno)
    places: dict[str, int] = {}
    args = function.args
    extra = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
    for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, *extra]:
        places[arg.arg] = abs(here - function.lineno)
    bound = _names(function, ast.Store) | set(places)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in bound:
            places[node.id] = min(places.get(node.id, 9999), abs(here - node.lineno))
    names = [name for name in places if name not in OWN]
    return sorted(names, key=lambda name: (places[name], name))


def _names(function: Function, context: type[ast.expr_context]) -> set[str]:
    names = (n for n in ast.walk(function) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}


@lru_cache(maxsize=64)
def unused_functions(source: Source) -> tuple[tuple[str, bool], ...]:
    """Private functions, methods and imports that the file never mentions again.

    Each with whether it is a method. What is public may well be used from elsewhere.
    """
    used: set[str] = set()
    made: dict[str, bool] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, Function) and _is_private(node.name):
            made[node.name] = isinstance(source.parents.get(node), ast.ClassDef)
        elif isinstance(node, ast.ImportFrom) and not source.path.endswith("__init__.py"):
            made.update(((a.asname or a.name), False) for a in node.names)
    left = [(name, method) for name, method in made.items() if name not in used | {"*"}]
    return tuple(left) if len(left) <= MOST else ()


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def called(site: Site, name: str, *, method: bool) -> list[str]:
    """Ways to call a function here: its parameters by their names, or one name in scope."""
    parameters = site.vocabulary.parameters.get(name)
    whole = f"self.{name}" if method else name
    if method and "self" not in site.local_names:
        return []
    if parameters is not None:
        needed = [_in_scope(site, p) for p in parameters]
        if all(needed):
            return [f"{whole}({', '.join(part for part in needed if part)})"]
    if parameters is not None and len(parameters) != 1:
        return []
    return [f"{whole}({local})" for local in nearest(site)[:NEAREST]]


def _in_scope(site: Site, parameter: str) -> str | None:
    if parameter in site.local_names:
        return parameter
    known = site.vocabulary.by_base.get("self", ())
    if "self" in site.local_names:
        return next((f"self.{n}" for n in (parameter, f"_{parameter}") if n in known), None)
    return None


def lost(site: Site, wanted: str = "") -> dict[str, float]:
    """Expressions for a place that says nothing, such as `None`; `wanted` names the place."""
    found: dict[str, float] = {}
    for name in unread(site):
        found[name] = 0.75
    for name, method in unused_functions(site.source):
        for index, text in enumerate(called(site, name, method=method)):
            found.setdefault(text, 0.7 * 0.9**index)
        if not method:
            found.setdefault(name, 0.5)
    for name in _named_like(site, wanted):
        method = name not in site.global_names
        for text in called(site, name, method=method)[:3]:
            found.setdefault(text, 0.4)
    for text, weight in _composed(site).items():
        found.setdefault(text, weight)
    for text in _told(site):
        found.setdefault(text, 0.3)
    return found


def _named_like(site: Site, wanted: str) -> list[str]:
    """Functions of the file with the name of what they are to give: `width` by `get_width`."""
    word = wanted.strip("_")
    if len(word) < 3:
        return []
    names = [n for n in site.vocabulary.parameters if word in n or alike(word, n) > 0.7]
    return sorted(names)[:MOST]


def _composed(site: Site) -> dict[str, float]:
    """Small expressions of the nearest names: in a list, as a key, as an argument, an attribute."""
    found: dict[str, float] = {}
    own = site.vocabulary.by_base.get("self", Counter())
    tables = [f"self.{attr}" for attr in ordered(own, limit=6) if "self" in site.local_names]
    for index, name in enumerate(nearest(site)[:MOST]):
        share = 0.9**index
        found[name] = 0.4 * share
        found[f"[{name}]"] = 0.12 * share
        for attr in sorted(site.vocabulary.by_base.get(name, ()))[:MOST]:
            found[f"{name}.{attr}"] = 0.2 * share
        for table in tables:
            found[f"{table}[{name}]"] = 0.1 * share
        for function in _functions_of_one(site):
            found[f"{function}({name})"] = 0.12 * share
        for attr in own if "self" in site.local_names else ():
            if name in attr or alike(name, attr.strip("_")) > 0.75:
                found[f"self.{attr}[{name}]"] = 0.25
    if "self" in site.local_names:
        for attr in ordered(own, limit=2 * NEAREST):
            found.setdefault(f"self.{attr}", 0.2)
    return found


def _functions_of_one(site: Site) -> list[str]:
    names = {
        site.text(call.func): len(calls)
        for name, calls in site.vocabulary.calls.items()
        for call in calls
        if name and len(call.args) == 1 and not call.keywords and "\n" not in site.text(call.func)
    }
    short = {name: count for name, count in names.items() if len(name) < 30}
    return sorted(short, key=lambda name: (-short[name], name))[:NEAREST]


def _told(site: Site) -> list[str]:
    """Texts that the failing tests mention: a lost literal is often one of them."""
    pieces = [piece for pair in site.hints.swaps for piece in pair if piece]
    return list(dict.fromkeys(repr(text) for text in [*pieces[:MOST], *site.hints.strings]))


def lost_values(site: Site) -> Iterator[Edit]:
    """An assignment, argument or body that says nothing gets what nothing else uses."""
    node = site.node
    if isinstance(node, ast.Assign | ast.AnnAssign) and _is_blank(node.value):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        assert node.value is not None
        for text, weight in lost(site, last_name(target)).items():
            yield site.replace(node.value, text, "assigned value", weight)
        for text in _siblings(site, last_name(target)):
            yield site.replace(node.value, text, "assigned value", 0.35)
    for call in site.nodes:
        if not isinstance(call, ast.Call):
            continue
        for arg in call.args:
            if _is_blank(arg):
                for text, weight in lost(site).items():
                    yield site.replace(arg, text, "argument", weight)
        for keyword in call.keywords:
            if _is_blank(keyword.value):
                for text, weight in lost(site, keyword.arg or "").items():
                    yield site.replace(keyword.value, text, "argument", weight)


def _is_blank(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, "")


def _siblings(site: Site, own: str) -> list[str]:
    """Other names of the class body that the statement stands in."""
    parent = site.source.parents.get(site.node)
    if not isinstance(parent, ast.ClassDef):
        return []
    names = [node.name for node in parent.body if isinstance(node, Function)]
    names += [
        target.id
        for node in parent.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    return [name for name in dict.fromkeys(names) if name != own][: 2 * MOST]
