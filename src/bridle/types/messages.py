"""Messages: what the model sees and what users read."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from bridle.types.content import Part, Text, ToolCall, plain_text

Role = Literal["user", "assistant", "tool"]

StopReason = Literal[
    "end_turn",  # the model is done
    "paused",  # the provider rests; the same request with this answer goes on
    "tool_use",  # the model asks for tools
    "max_tokens",  # the output limit was reached
    "stop_sequence",
    "refused",  # the provider's safety system ended it
    "interrupted",  # cut by an abort or a steer; the text so far is kept
    "timeout",  # cut by the run's deadline; the text so far is kept
]


PINNED = "pin_"
"""How the ids of pinned messages begin; a copy of one is pinned too."""


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message of a thread; assistant messages carry the model that wrote them."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    model: str | None = None
    stop: StopReason | None = None

    @property
    def pinned(self) -> bool:
        """Whether the message stays in every request, whatever else of the history is left out."""
        return self.id.startswith(PINNED)

    @property
    def text(self) -> str:
        """The readable text of the message."""
        return plain_text(self.parts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])


def user_message(message_id: str, text: str) -> Message:
    """Build a user message of one text part."""
    return Message(id=message_id, role="user", parts=(Text(text),))


def settled_messages(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages up to the last one whose calls all have their results."""
    end = len(messages)
    while end and messages[end - 1].calls:
        end -= 1
    return messages[:end]
