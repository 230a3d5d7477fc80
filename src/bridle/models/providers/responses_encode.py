"""Messages and tools as the items of OpenAI Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from bridle.models.providers.parts import data_url, file_text, is_own, wire_call_id
from bridle.models.wire import encode
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from bridle.types.content import Part
    from bridle.types.messages import Message
    from bridle.types.tools import ToolSpec


def encode_head(model: str, system: str, tools: tuple[ToolSpec, ...]) -> bytes:
    """Everything before the first item."""
    head = b'{"model":' + encode(model)
    if tools:
        head += b',"tools":' + encode([_tool(tool) for tool in tools])
    if system:
        head += b',"instructions":' + encode(system)
    return head + b',"input":['


def encode_message(message: Message, origin: str) -> bytes:
    """The items of one message, joined by commas; empty when nothing of it can be sent."""
    match message.role:
        case "user":
            items = [{"type": "message", "role": "user", "content": _content(message.parts)}]
        case "assistant":
            items = _assistant(message.parts, origin)
        case "tool":
            items = [_result(part) for part in message.parts if isinstance(part, ToolResult)]
        case other:
            assert_never(other)
    return b",".join(encode(item) for item in items)


def _assistant(parts: tuple[Part, ...], origin: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    phase: str | None = None
    for place, part in enumerate(parts):
        match part:
            case Thinking(private=private) if private and is_own(part.origin, origin):
                phase = private.get("phase", phase)
                sealed = private.get("encrypted_content")
                followed = place + 1 < len(parts)
                if sealed and followed:  # reasoning that led to nothing is refused
                    items.append(_reasoning(part.text, sealed))
            case Text(text=text) if text:
                content = [{"type": "output_text", "text": text}]
                item = {"type": "message", "role": "assistant", "content": content}
                items.append({**item, "phase": phase} if phase else item)
                phase = None
            case ToolCall():
                items.append(
                    {
                        "type": "function_call",
                        "call_id": wire_call_id(part),
                        "name": part.tool,
                        "arguments": encode(part.args).decode(),
                    }
                )
            case _:
                pass  # thinking of another model, empty text
    return items


def _reasoning(text: str, sealed: Any) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"type": "reasoning", "summary": summary, "encrypted_content": sealed}


def _result(part: ToolResult) -> dict[str, Any]:
    output: str | list[dict[str, Any]] = part.text
    if part.images:
        output = [{"type": "input_text", "text": part.text}, *map(_image, part.images)]
    return {"type": "function_call_output", "call_id": wire_call_id(part), "output": output}


def _content(parts: tuple[Part, ...]) -> list[dict[str, Any]]:
    return [_user_part(part) for part in parts if isinstance(part, Text | Image | File)]


def _user_part(part: Text | Image | File) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "input_text", "text": part.text}
        case Image():
            return _image(part)
        case File():
            return _file(part)
        case other:
            assert_never(other)


def _image(part: Image | File) -> dict[str, Any]:
    return {"type": "input_image", "detail": "auto", "image_url": data_url(part)}


def _file(part: File) -> dict[str, Any]:
    if part.media_type.startswith("image/"):
        return _image(part)
    text = file_text(part)
    if text is not None:
        return {"type": "input_text", "text": text}
    return {"type": "input_file", "filename": part.name, "file_data": data_url(part)}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }
