"""A stream of a thread's events: history from the store, then live, without gap or duplicate.

The buffer is bounded. A reader that falls behind is sent back to the store for what is durable;
live events that it missed are gone, which is what live means.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import anyio

from bridle.types.events import AnyEvent, Event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bridle.journal.bus import Bus
    from bridle.ports.store import Store

CAPACITY = 4096
PAGE = 1000


class Feed:
    """One reader's place in a thread's events."""

    def __init__(
        self, *, store: Store, bus: Bus, thread_id: str, after: int = 0, capacity: int = CAPACITY
    ) -> None:
        self._store = store
        self._bus = bus
        self._thread_id = thread_id
        self._seen = after
        self._capacity = capacity
        self._buffer: deque[AnyEvent] = deque()
        self._behind = True
        self._wake = anyio.Event()
        self._unsubscribe: Callable[[], None] | None = None
        self._closed = False

    def open(self) -> None:
        """Begin to listen; nothing after `after` will be missed from here on."""
        self._buffer.extend(self._bus.open_message(self._thread_id))
        self._unsubscribe = self._bus.subscribe(self._hear, thread_id=self._thread_id)

    def close(self) -> None:
        """Stop; the iteration ends."""
        self._closed = True
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self._wake.set()

    async def events(self) -> AsyncIterator[AnyEvent]:
        """Yield history after `after`, then what happens, until closed."""
        if self._unsubscribe is None and not self._closed:
            self.open()
        try:
            while True:
                if self._behind:
                    self._behind = False
                    async for event in self._catch_up():
                        yield event
                while self._buffer:
                    event = self._buffer.popleft()
                    if isinstance(event, Event):
                        if event.seq > self._seen + 1:  # somebody else committed in between
                            async for missed in self._catch_up():
                                yield missed
                        if event.seq <= self._seen:
                            continue
                        self._seen = event.seq
                    yield event
                if self._behind:
                    continue
                if self._closed:
                    return
                self._wake = anyio.Event()
                await self._wake.wait()
        finally:
            self.close()

    async def _catch_up(self) -> AsyncIterator[AnyEvent]:
        while True:
            page = await self._store.events(self._thread_id, after=self._seen, limit=PAGE)
            for event in page:
                if event.seq > self._seen:
                    self._seen = event.seq
                    yield event
            if len(page) < PAGE:
                break
        self._bus.begin(self._thread_id, self._seen)
        self._forget_stale()

    def _forget_stale(self) -> None:
        """Drop what came before the events just read: a delta must not follow its message."""
        known = [
            place
            for place, event in enumerate(self._buffer)
            if isinstance(event, Event) and event.seq <= self._seen
        ]
        for _ in range(known[-1] + 1 if known else 0):
            self._buffer.popleft()

    def _hear(self, event: AnyEvent) -> None:
        if len(self._buffer) >= self._capacity:
            self._buffer.clear()
            self._behind = True
        else:
            self._buffer.append(event)
        self._wake.set()
