"""A session's events: raw subscription, and history followed by live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.journal.feed import Feed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bridle.app.threads import SessionThreads
    from bridle.journal.bus import Listener
    from bridle.journal.recorder import Journal
    from bridle.types.events import AnyEvent


class SessionEvents:
    """Everything that happens in the session's thread."""

    def __init__(self, journal: Journal, threads: SessionThreads) -> None:
        self._journal = journal
        self._threads = threads

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every event from now on; returns how to stop.

        A listener that raises hurts neither the run nor the others.
        """
        return self._journal.bus.subscribe(listener, thread_id=self._threads.current.id)

    async def replay(self, after: int = 0) -> AsyncIterator[AnyEvent]:
        """Yield the thread's history after a seq, then what happens; no gap, no duplicate."""
        feed = Feed(
            store=self._journal.store,
            bus=self._journal.bus,
            thread_id=self._threads.current.id,
            after=after,
        )
        async for event in feed.events():
            yield event
