"""The host's lock on threads: taken once for all sessions of this harness on a thread."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.types.base import Moving

if TYPE_CHECKING:
    from bridle.ports.lock import ThreadLock


class ThreadLocks(Moving):
    """Counts the sessions of each thread: the first takes the lock, the last gives it back."""

    lock: ThreadLock | None = None
    _held: dict[str, int] = msgspec.field(default_factory=dict)
    _busy: anyio.Lock = msgspec.field(default_factory=anyio.Lock)

    async def acquire(self, thread_id: str) -> None:
        """A session comes to a thread; raises what the host's lock raises."""
        if self.lock is None:
            return
        async with self._busy:
            if not self._held.get(thread_id):
                taken = self.lock.acquire(thread_id)
                if inspect.isawaitable(taken):
                    await taken
            self._held[thread_id] = self._held.get(thread_id, 0) + 1

    async def release(self, thread_id: str) -> None:
        """A session leaves a thread."""
        if self.lock is None:
            return
        async with self._busy:
            left = self._held.pop(thread_id, 0) - 1
            if left > 0:
                self._held[thread_id] = left
            elif left == 0:
                given = self.lock.release(thread_id)
                if inspect.isawaitable(given):
                    await given

    async def release_all(self) -> None:
        """The harness closes."""
        for thread_id in list(self._held):
            self._held[thread_id] = 1
            await self.release(thread_id)
