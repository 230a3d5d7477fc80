"""A session's events: raw subscription, and history followed by live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.app.coalesce import DisplayScheduler
from bridle.journal.feed import Feed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import TaskGroup

    from bridle.app.attachment import Attachment
    from bridle.app.display import DisplaySnapshot, DisplayState
    from bridle.journal.bus import Listener
    from bridle.types.events import AnyEvent


class SessionEvents:
    """Everything that happens in the session's thread."""

    def __init__(self, attachment: Attachment, display: DisplayState, tasks: TaskGroup) -> None:
        self._attachment = attachment
        self._display = display
        self._tasks = tasks

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every event from now on; returns how to stop.

        A listener that raises hurts neither the run nor the others.
        """
        bus = self._attachment.journal.bus
        return bus.subscribe(listener, thread_id=self._attachment.thread.id)

    async def replay(self, after: int = 0) -> AsyncIterator[AnyEvent]:
        """Yield the thread's history after a seq, then what happens; no gap, no duplicate."""
        journal = self._attachment.journal
        feed = Feed(
            store=journal.store,
            bus=journal.bus,
            thread_id=self._attachment.thread.id,
            after=after,
        )
        async for event in feed.events():
            yield event

    def subscribe_display(
        self,
        listener: Callable[[DisplaySnapshot], None],
        window: float = 0.25,
        max_wait: float = 0.5,
    ) -> Callable[[], None]:
        """Call `listener` with a snapshot when things have changed, not for every change.

        Changes are gathered for `window` seconds after the last one, `max_wait` at most; what a
        person must react to is shown at once. There is no call before the first change.
        """
        scheduler = DisplayScheduler(
            display=self._display,
            listener=listener,
            window=window,
            max_wait=max_wait,
            clock=self._attachment.engine.clock,
        )
        return scheduler.start(self._tasks)
