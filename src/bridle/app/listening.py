"""Who listens to a session: functions that are called in order, and those that take their time."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import anyio

from bridle.types.events import AnyEvent

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

log = logging.getLogger("bridle.session")

CAPACITY = 4096
"""How much an async listener may be behind before it misses some."""

T = TypeVar("T")
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
        listener, close = at_once(fn, self._tasks)
        self._all.append(listener)

        def stop() -> None:
            if listener in self._all:
                self._all.remove(listener)
            close()

        return stop

    def tell(self, event: AnyEvent) -> None:
        """Call every listener."""
        for listener in tuple(self._all):
            try:
                listener(event)
            except Exception:  # a listener must not hurt the session or the other listeners
                log.exception("A subscriber failed on %s", event.type)


def at_once(
    fn: Callable[[T], Awaitable[None] | None], tasks: TaskGroup
) -> tuple[Callable[[T], object], Callable[[], None]]:
    """A plain function that tells `fn`, and how to stop; an async one is served by a task."""
    if not inspect.iscoroutinefunction(fn):
        return fn, lambda: None
    queue = _Queue(cast("Callable[[T], Awaitable[None]]", fn))
    tasks.start_soon(queue.serve, name="async subscriber")
    return queue.put, queue.close


class _Queue(Generic[T]):
    """What an async listener has still to hear; one that is far behind misses some."""

    def __init__(self, fn: Callable[[T], Awaitable[None]]) -> None:
        self._fn = fn
        self._closed = False
        self._send, self._receive = anyio.create_memory_object_stream[T](CAPACITY)

    def put(self, news: T) -> None:
        """Keep it for later."""
        try:
            self._send.send_nowait(news)
        except anyio.WouldBlock:
            log.warning("A slow subscriber missed something; events.replay() misses nothing")

    def close(self) -> None:
        """Call the listener no more."""
        self._closed = True
        self._send.close()

    async def serve(self) -> None:
        """Call the listener for one after the other."""
        async with self._receive:
            async for news in self._receive:
                if self._closed:
                    return
                try:
                    await self._fn(news)
                except Exception:  # as above
                    log.exception("An async subscriber failed")
