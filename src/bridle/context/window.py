"""How much of the history a request holds, where a model is given only the newest messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.types.messages import Message


def newest(messages: Sequence[Message], limit: int | None) -> Sequence[Message]:
    """The newest messages, at most `limit`, beginning with one of the user's.

    A call is never parted from its result. When no user message is among them, the request goes
    back to the last one there is. Pinned messages are never left out.
    """
    if limit is None or len(messages) <= limit:
        return messages
    start = _begin(messages, limit)
    return [*(message for message in messages[:start] if message.pinned), *messages[start:]]


def moved_on(messages: Sequence[Message], limit: int | None) -> bool:
    """Whether the next request does not begin with all that the last one held."""
    if limit is None:
        return False
    answers = [n for n, message in enumerate(messages) if message.role == "assistant"]
    before = newest(messages[: answers[-1]], limit) if answers else ()
    return list(before) != list(newest(messages, limit)[: len(before)])


def _begin(messages: Sequence[Message], limit: int) -> int:
    for start in range(len(messages) - limit, len(messages)):
        if messages[start].role == "user":
            return start
    for start in range(len(messages) - limit, -1, -1):
        if messages[start].role == "user":
            return start
    return 0
