"""A model that plays a queue of prepared answers; deterministic, needs no network."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from bridle.models.script import (
    Element,
    Item,
    calls,
    cuts,
    elements,
    fails,
    malformed,
    play,
    says,
    slow,
    stalls,
    thinks,
    uses,
)
from bridle.ports.clock import SystemClock
from bridle.types.ledger import FREE, Price

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from bridle.ports.clock import Clock
    from bridle.ports.model import ModelRequest, StreamPart
    from bridle.types.usage import Usage

__all__ = [
    "Element",
    "Item",
    "ScriptedModel",
    "calls",
    "cuts",
    "fails",
    "malformed",
    "says",
    "slow",
    "stalls",
    "thinks",
    "uses",
]


class ScriptedModel:
    """Plays its items one per request, in order, and keeps the requests it was sent.

    Past the end of the queue a request fails with `ModelError(kind="script_ended")`. `usage`, when
    given, is what every answer reports; else it is the item's own or an estimate by length. It
    costs nothing unless a `price` is given; None stands for a price that nobody knows.
    """

    def __init__(
        self,
        items: Iterable[Item] = (),
        *,
        id: str = "scripted/queue",
        price: Price | None = FREE,
        context_window: int | None = None,
        usage: Usage | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.id = id
        self.price = price
        self.context_window = context_window
        self.requests: list[ModelRequest] = []
        self._queue: deque[Item] = deque(items)
        self._usage = usage
        self._clock = clock or SystemClock()

    def plays(self, *items: Item) -> ScriptedModel:
        """Add answers to the end of the queue."""
        self._queue.extend(items)
        return self

    @property
    def left(self) -> int:
        """How many answers have not been played yet."""
        return len(self._queue)

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Play the next answer. It is taken from the queue now, not when the stream is read."""
        snapshot = msgspec.structs.replace(request, messages=tuple(request.messages))
        self.requests.append(snapshot)
        item = self._queue.popleft() if self._queue else self._ended()
        return play(
            elements(item, snapshot),
            snapshot,
            model=self.id,
            clock=self._clock,
            usage=self._usage,
        )

    def _ended(self) -> Item:
        message = (
            f"the script of {self.id} has ended: request {len(self.requests)} has no answer. "
            "Add one with model.plays(...)."
        )
        return fails("script_ended", message=message)
