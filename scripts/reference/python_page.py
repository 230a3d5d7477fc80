"""docs/reference/python.md from the public names."""

from __future__ import annotations

import enum
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, get_overloads

import msgspec
from markdown import code, doc_of, flat, written

import bridle
import bridle.testing
from bridle.app.parts.checkpoints import SessionCheckpoints
from bridle.app.parts.events import SessionEvents
from bridle.app.parts.models import SessionModels
from bridle.app.parts.modes import SessionModes
from bridle.app.parts.permissions import SessionPermissions
from bridle.app.parts.state import SessionState
from bridle.app.parts.subagents import SessionSubagents
from bridle.app.parts.tasks import SessionTasks
from bridle.app.parts.threads import SessionThreads, ThreadSettings
from bridle.app.parts.workspace import SessionWorkspace

PYTHON_INTRO = """# Python

Everything that is public is a name of `bridle`, or of `bridle.testing` for tests. Names are
resolved when they are first used, so `import bridle` costs next to nothing. The package ships its
types (`py.typed`).
"""


MADE_BY_OTHERS = ("Run", "Session")
FOR_THE_ENGINE = ("feed", "admit_run", "interrupt", "rested")
PARTS: dict[str, dict[str, type]] = {
    "Session": {
        "session.threads": SessionThreads,
        "session.threads.settings": ThreadSettings,
        "session.events": SessionEvents,
        "session.modes": SessionModes,
        "session.models": SessionModels,
        "session.state": SessionState,
        "session.permissions": SessionPermissions,
        "session.tasks": SessionTasks,
        "session.subagents": SessionSubagents,
        "session.workspace": SessionWorkspace,
        "session.checkpoints": SessionCheckpoints,
    }
}


def python_page() -> str:
    parts = [PYTHON_INTRO]
    for module in (bridle, bridle.testing):
        parts.append(f"## {module.__name__}\n")
        parts += [
            object_part(name, getattr(module, name))
            for name in sorted(module.__all__, key=str.lower)
            if not name.startswith("_")
        ]
    return "\n".join(parts)


def object_part(name: str, value: Any) -> str:
    lines = [f"### {name}\n"]
    if inspect.isclass(value):
        if name not in MADE_BY_OTHERS:
            lines.append(code(f"class {name}", *class_parameters(value)))
        lines += [doc_of(value), *member_list(value)]
        for part, kind in PARTS.get(name, {}).items():
            lines += [f"**{part}**: {doc_of(kind)}", *member_list(kind)]
    elif isinstance(value, tuple):
        lines.append(", ".join(f"`{entry}`" for entry in value) + "\n")
    else:
        for shown in get_overloads(value) or [value]:
            lines.append(code(name, *parameters_of(shown), returns=returned(shown)))
        lines.append(doc_of(value))
    return "\n".join(lines)


def member_list(kind: type) -> list[str]:
    members = list(public_members(kind))
    return ["\n".join(members) + "\n"] if members else []


def public_members(kind: type) -> Iterator[str]:
    owner_fields = set(field_names(kind))
    for name, member in vars(kind).items():
        if name.startswith("_") or name in owner_fields or name in FOR_THE_ENGINE:
            continue
        if isinstance(member, property):
            returns = inspect.get_annotations(member.fget).get("return", "")  # type: ignore[arg-type]
            yield f"- `{name}` → `{returns}`: {flat(member.__doc__)}"
        elif inspect.isfunction(member):
            mark = "async " if is_async(member) else ""
            yield f"- `{mark}{name}{signature(member)}`: {flat(member.__doc__)}"


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def field_names(kind: type) -> tuple[str, ...]:
    return getattr(kind, "__struct_fields__", None) or tuple(
        getattr(kind, "__dataclass_fields__", ())
    )


def class_parameters(kind: type) -> list[str]:
    if issubclass(kind, msgspec.Struct):
        names, defaults = kind.__struct_fields__, kind.__struct_defaults__
        given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        shown = [
            f"{name}: {written(kind, name).strip('`')}{struct_default(given, name)}"
            for name in names
        ]
        first = len(kind.__match_args__)  # those that may be given by position
        return [*shown[:first], *(["*"] if shown[first:] else []), *shown[first:]]
    if issubclass(kind, Exception) and "__init__" not in vars(kind):
        return [kind.__mro__[1].__name__]
    return parameters_of(kind.__init__)


def struct_default(given: dict[str, Any], name: str) -> str:
    value = given.get(name, msgspec.NODEFAULT)
    if value is msgspec.NODEFAULT:
        return ""
    factory = getattr(value, "factory", None)
    return f" = {shown_default(factory() if factory in (dict, list, set) else value)}"


def signature(function: Callable[..., Any]) -> str:
    return f"({', '.join(parameters_of(function))}){returned(function)}"


def returned(function: Callable[..., Any]) -> str:
    returns = inspect.get_annotations(function).get("return")
    return f" -> {returns}" if returns not in (None, "None") else ""


def parameters_of(function: Callable[..., Any]) -> list[str]:
    shown: list[str] = []
    before: Any = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if before is parameter.POSITIONAL_ONLY and parameter.kind is not before:
            shown.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and before is not parameter.kind:
            shown.append("*")
        shown.append(shown_parameter(parameter))
        before = parameter.kind
    return [*shown, "/"] if before is inspect.Parameter.POSITIONAL_ONLY else shown


def shown_parameter(parameter: inspect.Parameter) -> str:
    stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
    text = stars + parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {parameter.annotation}"
    if parameter.default is not parameter.empty:
        text += f" = {shown_default(parameter.default)}"
    return text


def shown_default(value: object) -> str:
    if isinstance(value, types.FunctionType):
        return value.__name__
    if isinstance(value, enum.Enum):
        return str(value)
    text = repr(value)
    return "…" if text.startswith("<") else text
