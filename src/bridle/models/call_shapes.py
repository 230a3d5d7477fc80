"""What counts as a call: values and names as models write them, made into a tool and its JSON.

A shape in explicit tags may name any tool: the model clearly wanted a call, and it is told when
there is no such tool. A shape that could be plain text must name a tool that exists.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.models import loose_json
from bridle.models.loose_json import Torn, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridle.types.tools import ToolSpec

_NAMES = ("name", "tool", "tool_name", "function_name", "function", "action", "recipient_name")
_ARGS = (
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "tool_input",
    "tool_args",
    "action_input",
    "kwargs",
)
_BESIDE = frozenset(
    (
        "id",
        "type",
        "index",
        "call_id",
        "thought",
        "thoughts",
        "reasoning",
        "explanation",
        "headline",
        "status",
    )
)
_GAP = re.compile(r"[\s,;.}\]]*")
_BATCHES = ("tool_calls", "tool_uses", "function_calls", "calls", "function_call", "tool_call")


class PrintedCall(msgspec.Struct, frozen=True):
    """A call found in text; `arguments` is JSON, or what could not be read of it (`torn`)."""

    tool: str
    arguments: str
    torn: bool = False


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of one shape in a text."""

    start: int
    calls: list[PrintedCall]
    shape: str
    after: str = ""


class Tools:
    """The tools of a request, as the readers of printed calls need them."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        self.schemas: dict[str, dict[str, Any]] = {spec.name: spec.parameters for spec in specs}
        self._folded = {_fold(name): name for name in self.schemas}

    def known(self, name: str) -> str | None:
        """The tool that a printed name means: prefixes, case and dashes do not matter."""
        name = name.strip().strip("\"'`")
        for candidate in (name, re.sub(r"^(?:functions?|tools?|default_api|api)[./:]", "", name)):
            bare = re.sub(r":\d+$", "", candidate)
            if found := self._folded.get(_fold(bare)):
                return found
        return None

    def mentioned(self, text: str) -> bool:
        """Whether a text names any tool at all."""
        folded = _fold(text)
        return any(name in folded for name in self._folded)

    def by_keys(self, keys: Iterable[str]) -> str | None:
        """The only tool that takes exactly these arguments, for calls that lost their name."""
        given = set(keys)
        fitting = [
            name
            for name, schema in self.schemas.items()
            if set(schema.get("required", ())) <= given <= set(schema.get("properties", {}))
        ]
        return fitting[0] if given and len(fitting) == 1 else None

    def fits(self, name: str, args: dict[str, Any]) -> bool:
        """Whether a tool takes these arguments and misses none."""
        required = set(self.schemas.get(name, {}).get("required", ()))
        return required <= set(args) <= set(self.properties(name))

    def properties(self, name: str) -> dict[str, Any]:
        """The parameters of a tool; empty for an unknown one."""
        found = self.schemas.get(name, {}).get("properties", {})
        return found if isinstance(found, dict) else {}

    def typed(self, name: str, args: dict[str, str]) -> dict[str, Any]:
        """Arguments printed as text, read as the tool's schema says; strings stay as they are."""
        properties = self.properties(name)
        return {key: _typed(value, properties.get(key, {})) for key, value in args.items()}


def call(tools: Tools, name: str, args: Any, *, explicit: bool) -> PrintedCall | None:
    """A call of that name; None when it cannot be one."""
    known = tools.known(name)
    if known is None and explicit and isinstance(args, dict) and not _is_name(name):
        known = tools.by_keys(args)
    if known is None and not (explicit and _is_name(name)):
        return None
    if isinstance(args, str):
        try:
            args = loose_json.loads(args) if args.strip() else {}
        except Torn:
            return PrintedCall(known or name, args, torn=True) if explicit else None
        except Unreadable:
            return None
    if args is None:
        args = {}
    if not isinstance(args, dict) or _is_schema(args, tools.properties(known or name)):
        return None
    return PrintedCall(known or name.strip(), msgspec.json.encode(args).decode())


def calls_of(value: Any, tools: Tools, *, explicit: bool) -> list[PrintedCall] | None:
    """The calls that a JSON value stands for; None when it is something else."""
    if isinstance(value, list):
        found: list[PrintedCall] = []
        for entry in value:
            inner = calls_of(entry, tools, explicit=explicit)
            if inner is None:
                return None
            found += inner
        return found or None
    if not isinstance(value, dict) or not value:
        return None
    for key in _BATCHES:
        if isinstance(value.get(key), list | dict) and set(value) <= {key, "content", *_BESIDE}:
            return calls_of(value[key], tools, explicit=explicit)
    one = _from_object(value, tools, explicit=explicit)
    return None if one is None else [one]


def _from_object(value: dict[str, Any], tools: Tools, *, explicit: bool) -> PrintedCall | None:
    inner = value.get("function")
    if isinstance(inner, dict) and set(value) <= {"function", *_BESIDE}:
        return _from_object(inner, tools, explicit=explicit)
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    if name_key is None:
        if len(value) == 1:
            name, args = next(iter(value.items()))
            known = tools.known(name)
            return call(tools, name, args, explicit=False) if known and name == known else None
        return None
    args_key = next((key for key in _ARGS if key in value and key != name_key), None)
    rest = {k: v for k, v in value.items() if k not in (name_key, args_key) and k not in _BESIDE}
    if args_key is not None:
        if rest and not explicit:
            return None
        return call(tools, value[name_key], value[args_key], explicit=explicit)
    known = tools.known(value[name_key])
    if known is None or set(rest) - set(tools.properties(known)):
        return None
    return call(tools, known, rest, explicit=explicit)


def python_calls(source: str, tools: Tools, *, explicit: bool) -> list[PrintedCall] | None:
    """Calls written as Python, `f(a=1)` or `[f(a=1), g(b="x")]`; nothing is ever evaluated."""
    try:
        body = ast.parse(source.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes: list[ast.expr] = []
    for statement in body:
        if isinstance(statement, ast.Assign | ast.Expr):
            node = statement.value
            nodes += node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        else:
            return None
    found = [_python_call(node, tools, explicit=explicit) for node in nodes]
    return None if not found or None in found else [c for c in found if c is not None]


def _python_call(node: ast.expr, tools: Tools, *, explicit: bool) -> PrintedCall | None:
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func)
    if name == "print" and len(node.args) == 1 and "print" not in tools.schemas:
        return _python_call(node.args[0], tools, explicit=explicit)
    known = tools.known(name)
    if known is None and not explicit:
        return None
    try:
        positional: Sequence[Any] = [ast.literal_eval(arg) for arg in node.args]
        args = {kw.arg: ast.literal_eval(kw.value) for kw in node.keywords}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if None in args:
        return None
    if len(positional) == 1 and isinstance(positional[0], dict) and not args:
        return call(tools, name, positional[0], explicit=explicit)
    order = [key for key in tools.properties(known or "") if key not in args]
    if len(positional) > len(order):
        return None
    filled = dict(zip(order, positional, strict=False)) | {str(k): v for k, v in args.items()}
    return call(tools, name, filled, explicit=explicit)


def values(text: str) -> Iterator[object]:
    """JSON values one after another; raises `Unreadable` at anything but a bracket too many."""
    at = 0
    text = text.strip()
    while at < len(text):
        value, at = loose_json.read(text, at)
        yield value
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")


def _is_name(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z_][\w.:/-]{0,63}", name.strip()))


def _is_schema(args: dict[str, Any], properties: dict[str, Any]) -> bool:
    """Whether a model only repeated the definition of a tool."""
    return "properties" in args and "type" in args and "properties" not in properties


def _typed(value: str, schema: Any) -> Any:
    kinds = schema.get("type", "string") if isinstance(schema, dict) else "string"
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "string" in kinds and kinds[0] == "string":
        return value
    try:
        read = loose_json.loads(value)
        return loose_json.loads(read) if isinstance(read, str) else read
    except Unreadable:
        return value
