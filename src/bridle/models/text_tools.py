"""Tools told in the prompt and calls written as text, for models without tools of their own.

A request is turned into one without tools: their descriptions join the system text, earlier calls
and results become text of the same form that the model is asked to write. The same message always
becomes the same object, so what an adapter cached for it stays valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, assert_never

import msgspec

from bridle.types.content import Part, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from bridle.ports.model import ModelRequest
    from bridle.types.messages import Message
    from bridle.types.tools import ToolSpec

ToolCallFormat = Literal["native", "strict-json", "prompt"]

_KEPT = 20_000


class Renderer:
    """Renders the requests of one model in one format."""

    def __init__(self, format: Literal["strict-json", "prompt"]) -> None:
        self.format = format
        self._messages: dict[str, tuple[Message, Message]] = {}
        self._system: tuple[str, tuple[ToolSpec, ...], bool, str] | None = None

    def render(self, request: ModelRequest) -> ModelRequest:
        """The same request without tools."""
        messages = tuple(self._message(message) for message in request.messages)
        if not request.tools:
            return msgspec.structs.replace(request, messages=messages)
        return msgspec.structs.replace(
            request, system=self._told(request), messages=messages, tools=()
        )

    def _told(self, request: ModelRequest) -> str:
        key = (request.system, tuple(request.tools), request.settings.parallel_tool_calls)
        if self._system is None or self._system[:3] != key:
            text = describe(request.tools, self.format, parallel=key[2])
            self._system = (*key, f"{request.system}\n\n{text}".lstrip())
        return self._system[3]

    def _message(self, message: Message) -> Message:
        held = self._messages.get(message.id)
        if held is not None and (held[0] is message or held[0] == message):
            return held[1]
        made = render_message(message, self.format)
        if len(self._messages) >= _KEPT:
            self._messages.clear()
        self._messages[message.id] = (message, made)
        return made


def describe(
    tools: tuple[ToolSpec, ...], format: Literal["strict-json", "prompt"], *, parallel: bool
) -> str:
    """Tell the model its tools and how to write a call."""
    listed = "\n".join(_signature(tool) for tool in tools)
    example = written_call(tools[0].name, _example(tools[0]), format)
    many = "Several calls may follow one another." if parallel else "Write one call at a time."
    match format:
        case "strict-json":
            how = (
                "To use a tool, answer with one JSON object and nothing else, in this form:\n"
                f"{example}\n"
                f"{many} The result comes in the next message. Strict JSON: double quotes, "
                "escaped line breaks, no comments. When the task is done, answer in plain text."
            )
        case "prompt":
            how = (
                "To use a tool, write a call in this form:\n"
                f"{example}\n"
                f"{many} Stop after it; the result comes in the next message. "
                "When the task is done, answer without a call."
            )
        case other:
            assert_never(other)
    return f"# Tools\n{listed}\n\n{how}"


def written_call(tool: str, args: dict[str, Any], format: Literal["strict-json", "prompt"]) -> str:
    """A call as the model is asked to write it."""
    if format == "strict-json":
        return msgspec.json.encode({"tool": tool, "args": args}).decode()
    body = msgspec.json.encode({"name": tool, "arguments": args}).decode()
    return f"<tool_call>\n{body}\n</tool_call>"


def written_result(result: ToolResult) -> str:
    """A result as the model is shown it."""
    what = "Error from" if result.is_error else "Result of"
    return f"{what} {result.tool}:\n{result.text}"


def render_message(message: Message, format: Literal["strict-json", "prompt"]) -> Message:
    """A message without calls and results; unchanged when it has none."""
    if not any(isinstance(part, ToolCall | ToolResult) for part in message.parts):
        return message
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case ToolCall():
                parts.append(Text(_after(parts) + written_call(part.tool, part.args, format)))
            case ToolResult():
                parts.append(Text(_after(parts) + written_result(part)))
                parts.extend(part.images)
            case _:
                parts.append(part)
    role = "user" if message.role == "tool" else message.role
    return msgspec.structs.replace(message, role=role, parts=tuple(parts))


def _after(parts: list[Part]) -> str:
    return "\n\n" if any(isinstance(part, Text) for part in parts) else ""


def _signature(tool: ToolSpec) -> str:
    """One tool on a few lines: what small models read best is short."""
    properties = tool.parameters.get("properties", {})
    required = set(tool.parameters.get("required", ()))
    lines = [f"- {tool.name}: {' '.join(tool.description.split())}"]
    for name, schema in properties.items():
        schema = schema if isinstance(schema, dict) else {}
        kind = _kind(schema)
        need = "" if name in required else ", optional"
        said = f": {schema['description']}" if schema.get("description") else ""
        lines.append(f"    {name} ({kind}{need}){said}")
    return "\n".join(lines)


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"list of {_kind(schema['items'])}"
    if kind is None and "anyOf" in schema:
        return " | ".join(_kind(option) for option in schema["anyOf"] if isinstance(option, dict))
    return str(kind or "any")


def _example(tool: ToolSpec) -> dict[str, Any]:
    """Arguments that fit the tool's required parameters."""
    properties = tool.parameters.get("properties", {})
    names = tool.parameters.get("required") or list(properties)[:1]
    return {name: sample(properties.get(name), f"<{name}>") for name in names}


def sample(schema: Any, otherwise: str) -> Any:
    """A value that fits a schema, to show how it is written; `otherwise` for a text."""
    schema = schema if isinstance(schema, dict) else {}
    if schema.get("enum"):
        return schema["enum"][0]
    samples: dict[str, Any] = {
        "integer": 1,
        "number": 1.5,
        "boolean": True,
        "array": [],
        "object": {},
        "null": None,
    }
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    return samples.get(kind, otherwise) if isinstance(kind, str) else otherwise
