"""Who listens to a session: functions that are called in order, and those that take their time."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

import anyio

from bridle.types.events import AnyEvent

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

log = logging.getLogger("bridle.session")

CAPACITY = 4096
"""How many events an async listener may be behind before it misses some."""

Heard = Callable[[AnyEvent], Awaitable[None] | None]
"""A listener to events; an async one is called by a task of its own."""


class Listeners:
    """The listeners of one session. None of them can hurt it, the run, or the others."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._all: list[Callable[[AnyEvent], object]] = []

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, fn: Heard) -> Callable[[], None]:
        """Tell one more; returns how to stop."""
        if not inspect.iscoroutinefunction(fn):
            self._all.append(fn)
            return lambda: self._forget(fn)
        queue = _Queue(cast("Callable[[AnyEvent], Awaitable[None]]", fn))
        self._all.append(queue.put)
        self._tasks.start_soon(queue.serve, name="event subscriber")

        def stop() -> None:
            self._forget(queue.put)
            queue.close()

        return stop

    def tell(self, event: AnyEvent) -> None:
        """Call every listener."""
        for listener in tuple(self._all):
            try:
                listener(event)
            except Exception:  # a listener must not hurt the session or the other listeners
                log.exception("A subscriber failed on %s", event.type)

    def _forget(self, listener: Callable[[AnyEvent], object]) -> None:
        if listener in self._all:
            self._all.remove(listener)


class _Queue:
    """What an async listener has still to hear; one that is far behind misses events."""

    def __init__(self, fn: Callable[[AnyEvent], Awaitable[None]]) -> None:
        self._fn = fn
        self._closed = False
        self._send, self._receive = anyio.create_memory_object_stream[AnyEvent](CAPACITY)

    def put(self, event: AnyEvent) -> None:
        """Keep an event for later."""
        try:
            self._send.send_nowait(event)
        except anyio.WouldBlock:
            log.warning("A slow subscriber missed %s; replay() misses nothing", event.type)

    def close(self) -> None:
        """Call the listener no more."""
        self._closed = True
        self._send.close()

    async def serve(self) -> None:
        """Call the listener for one event after the other."""
        async with self._receive:
            async for event in self._receive:
                if self._closed:
                    return
                try:
                    await self._fn(event)
                except Exception:  # as above
                    log.exception("A subscriber failed on %s", event.type)
