"""The in-process bus: tells whoever listens what was committed, and what happens live.

Publishing never waits and never fails: a listener that throws is reported and the others still
hear; a listener that wants to be slow uses a `Feed`, which loses its place and not the run.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable

from bridle.types.events import AnyEvent, Event, MessageDelta, MessageStarted

Listener = Callable[[AnyEvent], None]

log = logging.getLogger("bridle.bus")


class Bus:
    """Listeners by thread, and listeners to everything."""

    def __init__(self) -> None:
        self._by_thread: dict[str | None, list[Listener]] = defaultdict(list)
        self._last: dict[str, int] = {}
        self._open: dict[str, list[MessageDelta]] = {}

    @property
    def threads(self) -> frozenset[str]:
        """The threads that somebody listens to."""
        return frozenset(name for name in self._by_thread if name is not None)

    def last(self, thread_id: str) -> int | None:
        """The seq of the last event of a thread that was published here."""
        return self._last.get(thread_id)

    def begin(self, thread_id: str, seq: int) -> None:
        """What follows `seq` is news here, whoever commits it; the earliest such place holds."""
        self._last.setdefault(thread_id, seq)

    def open_message(self, thread_id: str) -> list[MessageDelta]:
        """What was said so far of the message that a model is writing, for a late listener."""
        return list(self._open.get(thread_id, ()))

    def subscribe(self, listener: Listener, *, thread_id: str | None = None) -> Callable[[], None]:
        """Call `listener` for every event of a thread (or of all); returns how to stop."""
        self._by_thread[thread_id].append(listener)

        def unsubscribe() -> None:
            listeners = self._by_thread.get(thread_id, [])
            if listener in listeners:
                listeners.remove(listener)
            if not listeners:
                self._by_thread.pop(thread_id, None)

        return unsubscribe

    def publish(self, events: Iterable[AnyEvent]) -> None:
        """Tell everybody, in order; an event that was told already is not told again."""
        for event in events:
            if isinstance(event, Event):
                if event.seq <= self._last.get(event.thread_id, 0):
                    continue
                self._last[event.thread_id] = event.seq
            self._keep_open(event)
            for listener in (
                *self._by_thread.get(event.thread_id, ()),
                *self._by_thread.get(None, ()),
            ):
                try:
                    listener(event)
                except Exception:  # a listener must not hurt the run or the other listeners
                    log.exception("A subscriber failed on %s", event.type)

    def _keep_open(self, event: AnyEvent) -> None:
        match event:
            case MessageStarted(role="assistant"):
                self._open[event.thread_id] = []
            case MessageDelta():
                self._open.setdefault(event.thread_id, []).append(event)
            case Event():
                self._open.pop(event.thread_id, None)
            case _:
                pass
