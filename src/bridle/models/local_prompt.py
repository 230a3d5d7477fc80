"""What a local model is shown, and the grammar that holds its answer in form.

With tools, an answer is one JSON object: a call of a tool or an answer in words. Small models copy
what they saw last, so the examples of calls stand last before a request. After a result a small
model is only asked to tell what it says: given the choice it calls on at random.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from bridle.errors import ModelError
from bridle.models.text_tools import sample, written_result
from bridle.types.content import File, Image, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridle.ports.model import ModelRequest
    from bridle.types.messages import Message
    from bridle.types.tools import ToolSpec

_SAMPLES = {
    "path": "hello.py",
    "pattern": "main",
    "command": "ls -la",
    "content": "hello",
    "query": "main",
    "url": "https://example.com",
    "old": "a",
    "new": "b",
}
_ANSWERS = (
    ("What is the capital of Italy?", "Rome"),
    ("Hello", "Hello! What shall I do?"),
)
_RETOLD = (
    (
        "Show me hello.txt\nResult of read_file:\nGood morning.",
        "hello.txt says: Good morning.",
    ),
    (
        "List the files in app\nResult of list_files:\nhello.py\nrun.py",
        "The files are hello.py and run.py.",
    ),
    ("Run uptime\nResult of bash:\nup 3 days", "The result is: up 3 days"),
)
_LONGEST_RESULT = 4_000
_BASIC = ("string", "integer", "number", "boolean", "array", "object", "null")


class Shown(NamedTuple):
    """The turns of a chat and the schema of the answer, if it has one."""

    turns: list[dict[str, str]]
    schema: dict[str, Any] | None = None


def show(request: ModelRequest, *, brief: bool) -> Shown:
    """What the model is shown for a request; `brief` is for small models."""
    if not request.tools:
        system = [_turn("system", request.system)] if request.system else []
        turns = [_turn(m.role, _words(m)) for m in request.messages]
        return Shown(system + turns, request.settings.output_schema)
    after_result = bool(request.messages) and request.messages[-1].role == "tool"
    if brief and after_result:
        return Shown(_retelling(request.messages))
    shown = [simplified(tool, brief=brief) for tool in request.tools]
    calls = [(_asked(tool), _call(tool.name, _samples(tool))) for tool in shown]
    answers = [(asked, json.dumps({"answer": said})) for asked, said in _ANSWERS]
    shots = calls + answers[-1:] if after_result else answers + calls
    turns = [_turn("system", _system(request.system, shown)), *_turns(shots)]
    turns += [_turn(m.role, _written(m)) for m in request.messages]
    return Shown(turns, answer_schema(request.tools, brief=brief))


def _retelling(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Ask for the last results in words, with the request that led to them."""
    first = len(messages)
    while first and messages[first - 1].role == "tool":
        first -= 1
    asked = next((m.text for m in reversed(messages[:first]) if m.role == "user"), "")
    results = "\n".join(_clipped(_words(message)) for message in messages[first:])
    turns = [_turn("system", "You tell the user what a tool returned."), *_turns(_RETOLD)]
    return [*turns, _turn("user", f"{asked}\n{results}")]


def _clipped(text: str) -> str:
    """Both ends of a long result: a small model has little room."""
    if len(text) <= _LONGEST_RESULT:
        return text
    half = _LONGEST_RESULT // 2
    return f"{text[:half]}\n…\n{text[-half:]}"


def _turns(shots: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [
        turn for asked, said in shots for turn in (_turn("user", asked), _turn("assistant", said))
    ]


def answer_schema(tools: tuple[ToolSpec, ...], *, brief: bool) -> dict[str, Any]:
    """One object: a call of one of the tools, or an answer."""
    options: list[dict[str, Any]] = [
        _object({"tool": {"const": tool.name}, "args": simplified(tool, brief=brief).parameters})
        for tool in tools
    ]
    return {"anyOf": [*options, _object({"answer": {"type": "string"}})]}


def simplified(tool: ToolSpec, *, brief: bool) -> ToolSpec:
    """The tool with a schema that a grammar can hold; `brief` leaves out what is optional."""
    properties = tool.parameters.get("properties", {})
    required = [name for name in tool.parameters.get("required", ()) if name in properties]
    names = (required or list(properties)[:1]) if brief else list(properties)
    return msgspec.structs.replace(
        tool,
        parameters={
            "type": "object",
            "properties": {name: _plain(properties[name]) for name in names},
            "required": names if brief else required,
            "additionalProperties": False,
        },
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _plain(schema: Any) -> dict[str, Any]:
    """The part of a schema that every grammar knows; what is too much becomes a string."""
    if not isinstance(schema, dict):
        return {"type": "string"}
    if schema.get("enum"):
        return {"enum": list(schema["enum"])}
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "string")
    if kind is None and isinstance(schema.get("anyOf"), list):
        options = [_plain(option) for option in schema["anyOf"]]
        return next((option for option in options if option.get("type") != "null"), options[0])
    if kind not in _BASIC:
        return {"type": "string"}
    if kind == "array":
        return {"type": "array", "items": _plain(schema.get("items"))}
    if kind == "object" and isinstance(schema.get("properties"), dict):
        inner = {name: _plain(value) for name, value in schema["properties"].items()}
        needed = [name for name in schema.get("required", ()) if name in inner]
        return {"type": "object", "properties": inner, "required": needed}
    return {"type": kind}


def _system(system: str, tools: list[ToolSpec]) -> str:
    lines = [
        f"- {tool.name}({', '.join(tool.parameters['properties'])}): "
        f"{' '.join(tool.description.split())}"
        for tool in tools
    ]
    told = "Answer with JSON: a tool call or an answer.\nTools:\n" + "\n".join(lines)
    return f"{system}\n{told}" if system else told


def _asked(tool: ToolSpec) -> str:
    first = tool.description.split(".")[0].strip() or tool.name
    return f"{first}. {' '.join(str(value) for value in _samples(tool).values())}".strip()


def _samples(tool: ToolSpec) -> dict[str, Any]:
    properties = tool.parameters["properties"]
    return {name: sample(schema, _SAMPLES.get(name, name)) for name, schema in properties.items()}


def _call(tool: str, args: dict[str, Any]) -> str:
    return json.dumps({"tool": tool, "args": args}, ensure_ascii=False)


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": "user" if role == "tool" else role, "content": content}


def _words(message: Message) -> str:
    parts = [_part(part) for part in message.parts]
    return "\n".join(part for part in parts if part)


def _written(message: Message) -> str:
    """A message as it stands in a chat about calls: the model's own words are JSON, too."""
    if message.role != "assistant" or message.calls:
        return _words(message)
    return json.dumps({"answer": message.text}, ensure_ascii=False)


def _part(part: object) -> str:
    match part:
        case Text():
            return part.text
        case ToolCall():
            return _call(part.tool, part.args)
        case ToolResult(images=()):
            return written_result(part)
        case Image() | File() | ToolResult():
            raise ModelError(
                "local models read text only: leave out images and files",
                kind="bad_request",
                provider="local",
            )
        case _:
            return ""
