"""Types, defaults and docstrings as Markdown."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

WIDTH = 96


def written(kind: type, field: str) -> str:
    """The annotation of a field as it stands in the source."""
    for base in kind.__mro__:
        found = inspect.get_annotations(base).get(field)
        if found is not None:
            return f"`{found if isinstance(found, str) else in_python(found)}`"
    raise LookupError(field)


def in_python(kind: Any) -> str:
    """An annotation that was evaluated, as one would write it."""
    text = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    return re.sub(r"\b[a-z_]+(\.[a-z_]+)*\.(?=[A-Z])", "", text)


def default_of(field: msgspec.structs.FieldInfo) -> str:
    value = field.default
    if value is msgspec.NODEFAULT:
        factory: Callable[[], Any] = field.default_factory
        value = factory()
    return msgspec.json.encode(value).decode()


def hint(kind: Any) -> str:
    """A type in words, for people who write YAML."""
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *meta = get_args(kind)
        return hint(inner) + "".join(bounds(m) for m in meta if isinstance(m, msgspec.Meta))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if origin in (Union, types.UnionType):
        return " or ".join(hint(part) for part in get_args(kind) if part is not type(None))
    if origin in (tuple, list):
        return f"list of {hint(get_args(kind)[0])}"
    if origin is dict:
        return f"map of {hint(get_args(kind)[0])} to {hint(get_args(kind)[1])}"
    words = {str: "text", int: "integer", float: "number", bool: "`true`, `false`"}
    return words.get(kind, getattr(kind, "__name__", str(kind)))


def bounds(meta: msgspec.Meta) -> str:
    if meta.ge is not None:
        return f" ≥ {meta.ge}" + (f", ≤ {meta.le}" if meta.le is not None else "")
    return f" > {meta.gt}" if meta.gt is not None else ""


def table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [row_of(headers), row_of("---" for _ in headers)]
    lines += [row_of(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


def row_of(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def code(name: str, *parameters: str, returns: str = "") -> str:
    """A signature in a block, one parameter per line when it is long."""
    text = f"{name}({', '.join(parameters)}){returns}"
    if len(text) > WIDTH:
        inside = "".join(f"    {parameter},\n" for parameter in parameters)
        text = f"{name}(\n{inside}){returns}"
    return f"```py\n{text}\n```\n"


def doc_of(value: Any) -> str:
    return inspect.cleandoc(value.__doc__ or "") + "\n"


def first_line(module: Any) -> str:
    return inspect.cleandoc(module.__doc__ or "").splitlines()[0].rstrip(".")


def flat(text: str | None) -> str:
    return " ".join(inspect.cleandoc(text or "").split())
