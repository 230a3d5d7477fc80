"""A session's events: raw subscription, and history followed by live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.app.coalesce import DisplayScheduler
from bridle.app.listening import Heard, Listeners, at_once
from bridle.journal.feed import Feed
from bridle.types.events import DisplayStateChanged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from anyio.abc import TaskGroup

    from bridle.app.attachment import Attachment
    from bridle.app.display import DisplaySnapshot, DisplayState
    from bridle.types.events import AnyEvent


class SessionEvents:
    """Everything that happens in the session's thread."""

    def __init__(self, attachment: Attachment, display: DisplayState, tasks: TaskGroup) -> None:
        self._attachment = attachment
        self._display = display
        self._tasks = tasks
        self._listeners = Listeners(tasks)
        self._stop_showing: Callable[[], None] | None = None
        attachment.heard = self._listeners.tell

    def subscribe(self, fn: Heard) -> Callable[[], None]:
        """Call `fn` with every event from now on; returns how to stop.

        It follows the session from thread to thread, and what the session shows is up to date
        when it is called. One that raises hurts neither the run nor the others; an async one is
        called by a task of its own, and misses events when it is far behind.
        """
        forget = self._listeners.add(fn)
        if self._stop_showing is None:
            self._stop_showing = self.subscribe_display(self._shown)

        def stop() -> None:
            forget()
            if not self._listeners and self._stop_showing is not None:
                self._stop_showing()
                self._stop_showing = None

        return stop

    def _shown(self, snapshot: DisplaySnapshot) -> None:
        thread_id = self._attachment.thread_id or ""
        self._listeners.tell(DisplayStateChanged(thread_id=thread_id, run_id=snapshot.run_id))

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
        fn: Callable[[DisplaySnapshot], Awaitable[None] | None],
        window: float = 0.25,
        max_wait: float = 0.5,
    ) -> Callable[[], None]:
        """Call `fn` with a snapshot when things have changed, not for every change.

        Changes are gathered for `window` seconds after the last one, `max_wait` at most; what a
        person must react to is shown at once. There is no call before the first change.
        """
        listener, close = at_once(fn, self._tasks)
        scheduler = DisplayScheduler(
            display=self._display,
            listener=listener,
            window=window,
            max_wait=max_wait,
            clock=self._attachment.engine.clock,
        )
        forget = scheduler.start(self._tasks)

        def stop() -> None:
            forget()
            close()

        return stop
