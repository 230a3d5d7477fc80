"""A clock that stands still until a test moves it."""

from __future__ import annotations

import heapq
import itertools

import anyio


class VirtualClock:
    """Sleepers wake in order when the time is moved past them."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self._now = now
        self._numbers = itertools.count()
        self._sleepers: list[tuple[float, int, anyio.Event]] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        woken = anyio.Event()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._numbers), woken))
        await woken.wait()

    def deadline(self, seconds: float) -> anyio.CancelScope:
        return anyio.CancelScope()

    async def move(self, seconds: float) -> None:
        """Let time pass; whoever wakes on the way does its work at its own time."""
        end = self._now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end + 1e-9:
            self._now, _, woken = heapq.heappop(self._sleepers)
            woken.set()
            await settle()
        self._now = end


async def settle() -> None:
    """Let the other tasks do what they can do without time."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
