"""How much of the history a request holds, where a model is given only the newest messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.types.messages import Message


def newest(messages: Sequence[Message], limit: int | None) -> Sequence[Message]:
    """The newest messages, at most `limit`, beginning with one of the user's.

    A call is never parted from its result. When no user message is among them, the request goes
    back to the last one there is.
    """
    if limit is None or len(messages) <= limit:
        return messages
    for start in range(len(messages) - limit, len(messages)):
        if messages[start].role == "user":
            return messages[start:]
    for start in range(len(messages) - limit, -1, -1):
        if messages[start].role == "user":
            return messages[start:]
    return messages
