"""Messages and tools as Anthropic wants them, and where the cache marks go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from bridle.errors import ModelError
from bridle.models.providers.parts import file_text, is_own, wire_call_id
from bridle.models.wire import encode
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridle.types.content import Part
    from bridle.types.messages import Message
    from bridle.types.tools import ToolSpec

_MARK = b',"cache_control":{"type":"ephemeral"}}'
_EPHEMERAL = {"type": "ephemeral"}


class AnthropicWire(NamedTuple):
    """A message's content blocks, joined by commas, without marks."""

    role: str
    blocks: bytes
    markable: bool = True
    thinks_first: bool = False
    has_calls: bool = False
    is_results: bool = False

    def size(self) -> int:
        """How many bytes it holds."""
        return len(self.blocks)


def encode_head(model: str, system: str, tools: tuple[ToolSpec, ...]) -> bytes:
    """Everything before the first message, with a mark on its last block."""
    head = b'{"model":' + encode(model)
    if tools:
        encoded = [_tool(tool) for tool in tools]
        if not system:
            encoded[-1]["cache_control"] = _EPHEMERAL
        head += b',"tools":' + encode(encoded)
    if system:
        text = {"type": "text", "text": system, "cache_control": _EPHEMERAL}
        head += b',"system":' + encode([text])
    return head + b',"messages":['


def join_messages(wires: Sequence[AnthropicWire]) -> Iterator[bytes]:
    """The messages, neighbours of one role in one, with marks on the last two of the user.

    The last but one is where the request before ended: its mark finds that entry of the cache
    however much the step added.
    """
    sent = [wire for wire in wires if wire.blocks]
    marks = set(_marked(sent))
    role = ""
    for place, wire in enumerate(sent):
        if wire.role == role:
            yield b","
        else:
            if role:
                yield b"]},"
            role = wire.role
            yield b'{"role":"%b","content":[' % role.encode()
        if place in marks:
            yield wire.blocks[:-1]
            yield _MARK
        else:
            yield wire.blocks
    if role:
        yield b"]}"


def _marked(wires: Sequence[AnthropicWire]) -> Iterator[int]:
    """The places of the marks: the last message, and the user's last one before an answer."""
    last = len(wires) - 1
    if last >= 0 and wires[last].markable:
        yield last
    answered = False
    for place in range(last, -1, -1):
        if wires[place].role == "assistant":
            answered = True
        elif answered and wires[place].markable:
            yield place
            return


def encode_message(message: Message, origin: str) -> AnthropicWire:
    """One message; thinking is sent back only to the model that wrote it, with its signature."""
    match message.role:
        case "user":
            return AnthropicWire("user", _join([b for p in message.parts for b in _user(p)]))
        case "assistant":
            return _assistant(message.parts, origin)
        case "tool":
            results = [_result(part) for part in message.parts if isinstance(part, ToolResult)]
            return AnthropicWire("user", _join(results), is_results=True)
        case other:
            assert_never(other)


def _assistant(parts: tuple[Part, ...], origin: str) -> AnthropicWire:
    blocks = [block for part in parts for block in _said(part, origin)]
    kinds = [block["type"] for block in blocks]
    thoughts = {"thinking", "redacted_thinking"}
    return AnthropicWire(
        "assistant",
        _join(blocks),
        markable=bool(kinds) and kinds[-1] not in thoughts,
        thinks_first=bool(kinds) and kinds[0] in thoughts,
        has_calls="tool_use" in kinds,
    )


def _said(part: Part, origin: str) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text=text) if text.strip():  # empty text is refused
            yield {"type": "text", "text": text}
        case Thinking(text=text, private=private) if private and is_own(part.origin, origin):
            if "signature" in private:
                yield {"type": "thinking", "thinking": text, "signature": private["signature"]}
            elif "redacted" in private:
                yield {"type": "redacted_thinking", "data": private["redacted"]}
        case ToolCall():
            call_id = wire_call_id(part)
            yield {"type": "tool_use", "id": call_id, "name": part.tool, "input": part.args}
        case _:
            pass  # thinking of another model


def _user(part: Part) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text=text) if text.strip():
            yield {"type": "text", "text": text}
        case Image():
            yield _image(part)
        case File():
            yield _file(part)
        case _:
            pass


def _image(part: Image | File) -> dict[str, Any]:
    source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    return {"type": "image", "source": source}


def _file(part: File) -> dict[str, Any]:
    if part.media_type.startswith("image/"):
        return _image(part)
    if part.media_type == "application/pdf":
        source = {"type": "base64", "media_type": "application/pdf", "data": part.data}
        return {"type": "document", "source": source, "title": part.name}
    text = file_text(part)
    if text is None:
        raise ModelError(
            f"anthropic takes images, PDF and text files; {part.name!r} is {part.media_type}",
            kind="bad_request",
            provider="anthropic",
        )
    return {"type": "text", "text": text}


def _result(part: ToolResult) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = part.text
    if part.images:
        text = [{"type": "text", "text": part.text}] if part.text.strip() else []
        content = [*text, *map(_image, part.images)]
    block = {"type": "tool_result", "tool_use_id": wire_call_id(part), "content": content}
    return {**block, "is_error": True} if part.is_error else block


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }


def _join(blocks: Sequence[dict[str, Any]]) -> bytes:
    return b",".join(encode(block) for block in blocks)
