"""The parts that messages are made of.

They are trees without a way back, so the collector need not follow them (`gc=False`): a long thread
holds a hundred thousand.
"""

from typing import Any

import msgspec


class Text(msgspec.Struct, frozen=True, gc=False, tag="text"):
    """Plain text, for people and models."""

    text: str


class Thinking(msgspec.Struct, frozen=True, gc=False, tag="thinking", omit_defaults=True):
    """A model's reasoning.

    `private` holds what only its origin understands (a signature, an encrypted block); it is
    dropped when the history is sent to a model of another origin.
    """

    text: str
    origin: str | None = None
    private: dict[str, Any] | None = None


class Image(msgspec.Struct, frozen=True, gc=False, tag="image"):
    """An image, base64 encoded."""

    media_type: str
    data: str


class File(msgspec.Struct, frozen=True, gc=False, tag="file"):
    """A binary attachment, base64 encoded."""

    name: str
    media_type: str
    data: str


class ToolCall(msgspec.Struct, frozen=True, gc=False, tag="tool_call", omit_defaults=True):
    """A request of the model to run a tool.

    `id` is ours (run.step.index); `provider_id` is what the provider calls it. Arguments that are
    not a JSON object are kept in `invalid` and answered with an error instead of being run.
    """

    id: str
    tool: str
    args: dict[str, Any]
    provider_id: str | None = None
    invalid: str | None = None
    private: dict[str, Any] | None = None


class ToolResult(msgspec.Struct, frozen=True, gc=False, tag="tool_result", omit_defaults=True):
    """The one answer to a call."""

    call_id: str
    tool: str
    text: str
    is_error: bool = False
    provider_id: str | None = None
    images: tuple[Image, ...] = ()


Part = Text | Thinking | Image | File | ToolCall | ToolResult
UserPart = Text | Image | File


def plain_text(parts: tuple[Part, ...]) -> str:
    """Join the text parts; thinking, calls and attachments are left out."""
    return "".join([part.text for part in parts if isinstance(part, Text)])
