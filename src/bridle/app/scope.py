"""A task group that lives from `open` to `close`, whatever tasks call them.

A harness is often opened in one task and closed in another (a test's fixture, a web server's
lifespan). A task group may not be. So one host task holds it; this is the only task that Bridle
starts outside a group, and `close` waits for it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from anyio.abc import TaskGroup


class Waiters:
    """Those who wait for what ends with the harness: they are told before it is closed."""

    def __init__(self) -> None:
        self._count = 0
        self._gone = anyio.Event()

    def __enter__(self) -> None:
        self._count += 1

    def __exit__(self, *_error: object) -> None:
        self._count -= 1
        if not self._count:
            self._gone.set()
            self._gone = anyio.Event()

    async def gone(self, seconds: float) -> None:
        """Return when nobody waits any more, or when that takes too long."""
        with anyio.move_on_after(seconds):
            while self._count:
                await self._gone.wait()


class HostedTasks:
    """Owns a task group in a task of its own."""

    def __init__(self) -> None:
        self._host: asyncio.Task[None] | None = None
        self._group: TaskGroup | None = None
        self._closing = anyio.Event()

    @property
    def group(self) -> TaskGroup:
        """The group to start tasks in."""
        assert self._group is not None, "open() comes first"
        return self._group

    async def open(self) -> None:
        """Start the host."""
        ready = anyio.Event()
        self._closing = anyio.Event()

        async def hold() -> None:
            async with anyio.create_task_group() as group:
                self._group = group
                ready.set()
                await self._closing.wait()
                group.cancel_scope.cancel()

        self._host = asyncio.get_running_loop().create_task(hold(), name="bridle harness")
        await ready.wait()

    async def close(self) -> None:
        """Cancel what still runs, wait for it, and raise what it raised."""
        if self._host is None:
            return
        self._closing.set()
        host, self._host, self._group = self._host, None, None
        with anyio.CancelScope(shield=True):
            await host
