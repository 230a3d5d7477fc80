"""Headers: default arguments, decorators, loops over the wrong thing, exceptions."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from bridle.repair.operators.names import alike
from bridle.repair.operators.site import error_names, ordered
from bridle.repair.operators.statements import inserted
from bridle.repair.source import Definition, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.repair.operators.site import Site
    from bridle.repair.source import Edit

USUAL_ERRORS = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "StopIteration",
    "RuntimeError",
    "NotImplementedError",
    "ZeroDivisionError",
    "OverflowError",
    "LookupError",
    "OSError",
    "Exception",
)
USUAL_DECORATORS = ("property", "staticmethod", "classmethod")


def exceptions(site: Site) -> Iterator[Edit]:
    """The wrong exception raised or caught."""
    for node in error_names(site.node):
        own = site.text(node)
        found: dict[str, float] = {}
        for index, name in enumerate(ordered(site.vocabulary.exceptions, but=[own], limit=8)):
            found[name] = 0.7 * 0.95**index
        for index, name in enumerate(USUAL_ERRORS):
            found.setdefault(name, 0.6 * 0.93**index)
        for name in site.global_names:
            if name.endswith(("Error", "Exception", "Exit", "Warning")) and name != own:
                found[name] = max(found.get(name, 0), 0.4 + 0.2 * alike(name, own))
        for name, weight in found.items():
            if name != own:
                yield site.replace(node, name, "exception", weight)
                if isinstance(site.node, ast.ExceptHandler):
                    joined = f"({own}, {name})"
                    yield site.replace(node, joined, "exception", weight / 3)


def loops(site: Site) -> Iterator[Edit]:
    """A loop over the wrong thing: another name in scope, or what other loops run over."""
    node = site.node
    iters: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.For | ast.AsyncFor):
        iters.append((node.target, node.iter))
    for child in site.nodes:
        if isinstance(child, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            iters += [(part.target, part.iter) for part in child.generators]
    for target, iterable in iters:
        for text, weight in _iterables(site, target).items():
            if text != site.text(iterable):
                empty = isinstance(iterable, ast.List | ast.Tuple) and not iterable.elts
                yield site.replace(iterable, text, "loop", weight * (1.0 if empty else 0.5))


def _iterables(site: Site, target: ast.expr) -> dict[str, float]:
    found: dict[str, float] = {}
    stem = site.text(target).lower()
    pool = Counter(site.local_names)
    for name in ordered(pool, limit=14):
        found[name] = 0.5 * (0.6 + 0.6 * alike(stem, name.lower()))
    for base, names in site.vocabulary.by_base.items():
        if base in {"self", "cls"} and base in site.local_names:
            for name in ordered(names, limit=8):
                found[f"{base}.{name}"] = 0.35 * (0.6 + 0.6 * alike(stem, name.lower()))
    for name in ordered(site.global_names, limit=8):
        found.setdefault(name, 0.12 * (0.6 + 0.6 * alike(stem, name.lower())))
    own = site.text(target)
    for bound, text in site.vocabulary.loops:
        found.setdefault(text, 0.6 if bound == own else 0.2)
    pairs = isinstance(target, ast.Tuple)
    for name in ordered(pool, limit=8):
        for shape in (
            ("enumerate({})", "{}.items()", "zip({0}, {0})")
            if pairs
            else (
                "range({})",
                "range(len({}))",
                "reversed({})",
                "sorted({})",
                "{}.values()",
            )
        ):
            found.setdefault(shape.format(name), 0.35 if pairs else 0.2)
    return found


def defaults(site: Site) -> Iterator[Edit]:
    """A default argument that is missing; wrong ones are constants like any other."""
    node = site.node
    if not isinstance(node, Function):
        return
    args = [*node.args.posonlyargs, *node.args.args]
    bare = args[: len(args) - len(node.args.defaults)]
    if bare and bare[-1].arg not in {"self", "cls"}:
        end = site.source.span(bare[-1])[1]
        for value in ("None", "0", "False", "True", "1", "()", "''"):
            yield site.change(end, end, f"={value}", "default argument", 0.25)


def decorators(site: Site) -> Iterator[Edit]:
    """A decorator that is missing, too much, or the wrong one."""
    node = site.node
    if not isinstance(node, Definition):
        return
    known = ordered(site.vocabulary.decorators, limit=10)
    for decorator in node.decorator_list:
        for other in known:
            if other != site.text(decorator):
                yield site.replace(decorator, other, "decorator", 0.3)
    have = {site.text(d) for d in node.decorator_list}
    inside = isinstance(site.source.parents.get(node), ast.ClassDef)
    usual = USUAL_DECORATORS if inside and not isinstance(node, ast.ClassDef) else ()
    for text in [*known, *(u for u in usual if u not in known)]:
        if text not in have:
            weight = 0.5 if text in usual else 0.4
            yield from inserted(site, node, f"@{text}", "decorator", weight, before=True)


def scopes(site: Site) -> Iterator[Edit]:
    """A starting value, where the loop that uses it shows what is meant."""
    node = site.node
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant | ast.Name):
        return
    for new in ("0", "1", "None", "[]", "''", "True", "False", "-1", "{}", "set()"):
        if new != site.text(node.value):
            yield site.replace(node.value, new, "initial value", 0.35)
