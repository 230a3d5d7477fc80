"""Messages and tools as Gemini wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from bridle.models.providers.parts import file_text, is_own
from bridle.models.wire import encode
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridle.types.content import Part
    from bridle.types.messages import Message
    from bridle.types.tools import ToolSpec

NO_SIGNATURE = "skip_thought_signature_validator"
"""What Google documents for calls that another model made; without it they are refused."""


class GeminiWire(NamedTuple):
    """A message's parts, joined by commas."""

    role: str
    parts: bytes

    def size(self) -> int:
        """How many bytes it holds."""
        return len(self.parts)


def encode_head(system: str, tools: tuple[ToolSpec, ...]) -> bytes:
    """Everything before the first message."""
    head = b"{"
    if tools:
        declared = {"functionDeclarations": [_tool(tool) for tool in tools]}
        head += b'"tools":' + encode([declared]) + b","
    if system:
        head += b'"systemInstruction":' + encode({"parts": [{"text": system}]}) + b","
    return head + b'"contents":['


def join_messages(wires: Sequence[GeminiWire]) -> Iterator[bytes]:
    """The messages; neighbours of one role are one content, so results stand together."""
    role = ""
    for wire in wires:
        if not wire.parts:
            continue
        if wire.role == role:
            yield b","
        else:
            if role:
                yield b"]},"
            role = wire.role
            yield b'{"role":"%b","parts":[' % role.encode()
        yield wire.parts
    if role:
        yield b"]}"


def encode_message(message: Message, origin: str, *, needs_signature: bool) -> GeminiWire:
    """One message; thought signatures are sent back only to the model that made them."""
    match message.role:
        case "user":
            return GeminiWire("user", _join([p for part in message.parts for p in _user(part)]))
        case "assistant":
            own = is_own(message.model, origin)
            parts = [p for part in message.parts for p in _said(part, origin, own=own)]
            if needs_signature:
                _sign_first_call(parts)
            return GeminiWire("model", _join(parts))
        case "tool":
            results = [part for part in message.parts if isinstance(part, ToolResult)]
            return GeminiWire("user", _join([p for part in results for p in _result(part)]))
        case other:
            assert_never(other)


def _said(part: Part, origin: str, *, own: bool) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text=text) if text:
            yield {"text": text}
        case Thinking(text=text, private=private) if private and is_own(part.origin, origin):
            if signature := private.get("thought_signature"):
                thought = {"thought": True} if text else {}
                yield {"text": text, **thought, "thoughtSignature": signature}
        case ToolCall(private=private):
            call: dict[str, Any] = {"name": part.tool, "args": part.args}
            if part.provider_id:
                call["id"] = part.provider_id
            signature = (private or {}).get("thought_signature") if own else None
            signed = {"thoughtSignature": signature} if signature else {}
            yield {"functionCall": call, **signed}
        case _:
            pass  # thinking of another model, empty text


def _sign_first_call(parts: list[dict[str, Any]]) -> None:
    """Only the first of parallel calls carries a signature, and it must."""
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None:
        first.setdefault("thoughtSignature", NO_SIGNATURE)


def _user(part: Part) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text=text) if text:
            yield {"text": text}
        case Image():
            yield _inline(part)
        case File():
            content = file_text(part)
            yield _inline(part) if content is None else {"text": content}
        case _:
            pass


def _inline(part: Image | File) -> dict[str, Any]:
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


def _result(part: ToolResult) -> Iterator[dict[str, Any]]:
    response: dict[str, Any] = {
        "name": part.tool,
        "response": {"error" if part.is_error else "output": part.text},
    }
    if part.provider_id:
        response["id"] = part.provider_id
    yield {"functionResponse": response}
    yield from map(_inline, part.images)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    }


def _join(parts: Sequence[dict[str, Any]]) -> bytes:
    return b",".join(encode(part) for part in parts)
