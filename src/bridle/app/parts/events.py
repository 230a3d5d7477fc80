"""A session's events: raw subscription, and history followed by live."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from bridle.app.coalesce import DisplayScheduler
from bridle.journal.feed import Feed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import TaskGroup

    from bridle.app.attachment import Attachment
    from bridle.app.display import DisplaySnapshot, DisplayState
    from bridle.journal.bus import Bus, Listener
    from bridle.types.events import AnyEvent


log = logging.getLogger("bridle.session")


class _Listening:
    """One listener and the thread that it hears now."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._thread_id: str | None = None
        self.stop: Callable[[], None] = lambda: None

    def tell(self, event: AnyEvent) -> None:
        """Tell what happened before the move."""
        try:
            self._listener(event)
        except Exception:  # a listener must not hurt the session or the other listeners
            log.exception("A subscriber failed on %s", event.type)

    def move(self, bus: Bus, thread_id: str | None) -> None:
        """Hear another thread, or none."""
        if thread_id == self._thread_id:
            return
        self.stop()
        self._thread_id, self.stop = thread_id, lambda: None
        if thread_id is not None:
            self.stop = bus.subscribe(self._listener, thread_id=thread_id)


class SessionEvents:
    """Everything that happens in the session's thread."""

    def __init__(self, attachment: Attachment, display: DisplayState, tasks: TaskGroup) -> None:
        self._attachment = attachment
        self._display = display
        self._tasks = tasks
        self._listeners: dict[int, _Listening] = {}
        attachment.moved.append(self._follow)

    def subscribe(self, fn: Listener) -> Callable[[], None]:
        """Call `fn` with every event from now on; returns how to stop.

        It follows the session from thread to thread. A listener that raises hurts neither the run
        nor the others.
        """
        listening = _Listening(fn)
        self._listeners[id(listening)] = listening
        listening.move(self._attachment.journal.bus, self._attachment.thread_id)

        def stop() -> None:
            self._listeners.pop(id(listening), None)
            listening.stop()

        return stop

    def _follow(self, created: AnyEvent | None) -> None:
        for listening in list(self._listeners.values()):
            listening.move(self._attachment.journal.bus, self._attachment.thread_id)
            if created is not None:
                listening.tell(created)

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
        fn: Callable[[DisplaySnapshot], None],
        window: float = 0.25,
        max_wait: float = 0.5,
    ) -> Callable[[], None]:
        """Call `fn` with a snapshot when things have changed, not for every change.

        Changes are gathered for `window` seconds after the last one, `max_wait` at most; what a
        person must react to is shown at once. There is no call before the first change.
        """
        scheduler = DisplayScheduler(
            display=self._display,
            listener=fn,
            window=window,
            max_wait=max_wait,
            clock=self._attachment.engine.clock,
        )
        return scheduler.start(self._tasks)
