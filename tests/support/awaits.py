"""Do something at the n-th await of any task that is started meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any


class Awaits:
    """Counts suspensions; at number `at` it calls `then`, in the very moment of the await."""

    def __init__(self, at: int | None, then: Callable[[], None]) -> None:
        self.count = 0
        self._at = at
        self._then = then

    @property
    def reached(self) -> bool:
        return self._at is not None and self.count >= self._at

    def tick(self) -> None:
        self.count += 1
        if self.count == self._at:
            self._then()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the awaits of every task that begins in here."""
        loop = asyncio.get_running_loop()
        before = loop.get_task_factory()
        loop.set_task_factory(self._make)
        try:
            yield
        finally:
            loop.set_task_factory(before)

    def _make(
        self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **more: Any
    ) -> asyncio.Task[Any]:
        return asyncio.Task(self._run(coro), loop=loop, **more)

    async def _run(self, coro: Coroutine[Any, Any, Any]) -> Any:
        return await _Stepped(coro, self.tick)


class _Stepped:
    def __init__(self, coro: Coroutine[Any, Any, Any], tick: Callable[[], None]) -> None:
        self._coro = coro
        self._tick = tick

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = lambda: self._coro.send(None)  # noqa: E731
        while True:
            try:
                waiting_for = step()
            except StopIteration as stop:
                return stop.value
            self._tick()
            try:
                sent = yield waiting_for
            except BaseException as error:
                thrown = error
                step = lambda: self._coro.throw(thrown)  # noqa: E731, B023
            else:
                step = lambda: self._coro.send(sent)  # noqa: E731, B023
