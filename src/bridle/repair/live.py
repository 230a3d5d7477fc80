"""Values made at import that a running process can be given anew: defaults and plain constants.

A fresh import costs a hundred times a fork. What was computed from the old value keeps it, so a
value that does not help here may still help after a fresh import.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from bridle.repair.source import Edit, Function, Source

if TYPE_CHECKING:
    from bridle.repair.operators.site import Site


def live_value(site: Site, edit: Edit) -> dict[str, Any] | None:
    """What to put where, if the edit changes one such value only; else None."""
    node = site.node
    if isinstance(node, Function):
        return _default(site.source, node, edit)
    if site.function is not None or not isinstance(node, ast.Assign | ast.AnnAssign):
        return None
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, ast.Name) or node.value is None:
        return None
    expression = _changed(site.source, node.value, edit)
    if expression is None or (isinstance(node, ast.Assign) and len(node.targets) > 1):
        return None
    parent = site.source.parents.get(node)
    found = {"value": "global", "name": target.id, "expression": expression}
    if isinstance(parent, ast.Module):
        return found
    if isinstance(parent, ast.ClassDef) and parent in site.source.tree.body:
        plain = not parent.decorator_list and not parent.keywords
        return {**found, "value": "attribute", "owner": parent.name} if plain else None
    return None


def _default(source: Source, node: Function, edit: Edit) -> dict[str, Any] | None:
    line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    places: list[tuple[int | str, ast.expr]] = list(enumerate(node.args.defaults))
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    places += [(arg.arg, value) for arg, value in pairs if value is not None]
    for index, value in places:
        expression = _changed(source, value, edit)
        if expression is not None:
            return {
                "value": "default",
                "name": node.name,
                "line": line,
                "index": index,
                "expression": expression,
            }
    return None


def _changed(source: Source, value: ast.expr, edit: Edit) -> str | None:
    """The text of an expression after an edit inside it."""
    start, end = source.span(value)
    if not start <= edit.start <= edit.end <= end:
        return None
    text = source.text
    return text[start : edit.start] + edit.new + text[edit.end : end]
