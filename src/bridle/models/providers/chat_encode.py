"""Messages and tools as chat completions wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from bridle.models.providers.parts import data_url, file_text, is_own, wire_call_id
from bridle.models.wire import encode
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridle.models.providers.dialects import ChatDialect
    from bridle.types.content import Part
    from bridle.types.messages import Message
    from bridle.types.tools import ToolSpec

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class ChatWire(NamedTuple):
    """A message's objects, joined by commas; `images` may follow only after the last result."""

    main: bytes
    images: bytes = b""
    is_tool: bool = False

    def size(self) -> int:
        """How many bytes it holds."""
        return len(self.main) + len(self.images)


def encode_head(model: str, system: str, tools: tuple[ToolSpec, ...]) -> bytes:
    """Everything before the first message that is not the system's."""
    head = b'{"model":' + encode(model)
    if tools:
        head += b',"tools":' + encode([_tool(tool) for tool in tools])
    head += b',"messages":['
    if system:
        head += encode({"role": "system", "content": system})
    return head


def join_messages(head: bytes, wires: Sequence[ChatWire]) -> Iterator[bytes]:
    """The head and the messages with commas between; images of results after all of them."""
    yield head
    if not any(wire.images for wire in wires):
        mains = [wire.main for wire in wires if wire.main]
        if mains and not head.endswith(b"["):
            yield b","
        yield b",".join(mains)
        return
    first = head.endswith(b"[")
    waiting: list[bytes] = []
    for wire in wires:
        if waiting and not wire.is_tool:
            for images in waiting:
                yield b","
                yield images
            waiting.clear()
        if wire.main:
            if not first:
                yield b","
            first = False
            yield wire.main
        if wire.images:
            waiting.append(wire.images)
    for images in waiting:
        yield b","
        yield images


def encode_message(message: Message, origin: str, dialect: ChatDialect) -> ChatWire:
    """One message; reasoning is sent back only to the model that wrote it."""
    match message.role:
        case "user":
            return ChatWire(encode({"role": "user", "content": _content(message.parts)}))
        case "assistant":
            return ChatWire(encode(_assistant(message, origin, dialect)))
        case "tool":
            return _results(message, dialect)
        case other:
            assert_never(other)


def _assistant(message: Message, origin: str, dialect: ChatDialect) -> dict[str, Any]:
    calls = [_call(call, dialect) for call in message.calls]
    wire: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if not calls:
        wire["content"] = message.text
        return wire
    if dialect.returns_reasoning:
        for part in message.parts:
            if isinstance(part, Thinking) and is_own(part.origin, origin):
                _add_reasoning(wire, part)
    wire["tool_calls"] = calls
    return wire


def _add_reasoning(wire: dict[str, Any], part: Thinking) -> None:
    private = part.private or {}
    field = private.get("field")
    if field in {"reasoning_content", "reasoning"} and part.text:
        wire[field] = wire.get(field, "") + part.text
    details = private.get("reasoning_details")
    if isinstance(details, list):
        wire.setdefault("reasoning_details", []).extend(details)


def _call(call: ToolCall, dialect: ChatDialect) -> dict[str, Any]:
    return {
        "id": wire_call_id(call, dialect.call_id),
        "type": "function",
        "function": {"name": call.tool, "arguments": encode(call.args).decode()},
    }


def _results(message: Message, dialect: ChatDialect) -> ChatWire:
    rule = dialect.call_id
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    main = b",".join(
        encode({"role": "tool", "tool_call_id": wire_call_id(part, rule), "content": part.text})
        for part in results
    )
    images = [image for part in results for image in part.images]
    if not images:
        return ChatWire(main, is_tool=True)
    parts: tuple[Part, ...] = (Text("The images of the results above:"), *images)
    return ChatWire(main, encode({"role": "user", "content": _content(parts)}), is_tool=True)


def _content(parts: tuple[Part, ...]) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [_user_part(part) for part in parts if isinstance(part, Text | Image | File)]


def _user_part(part: Text | Image | File) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            return {"type": "image_url", "image_url": {"url": data_url(part)}}
        case File():
            return _file(part)
        case other:
            assert_never(other)


def _file(part: File) -> dict[str, Any]:
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    if part.media_type in _AUDIO:
        audio = {"data": part.data, "format": _AUDIO[part.media_type]}
        return {"type": "input_audio", "input_audio": audio}
    text = file_text(part)
    if text is not None:
        return {"type": "text", "text": text}
    return {"type": "file", "file": {"filename": part.name, "file_data": data_url(part)}}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }
