"""Sees what other processes commit, and tells the bus.

Nobody tells a process that another one wrote to the store. So, while anybody here listens, the
store's change counter is read ten times a second; only when it moved are the heads of the threads
that matter compared with what was published.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

from bridle.errors import StoreError
from bridle.types.base import Moving

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bridle.journal.recorder import Journal

POLL_SECONDS = 0.1
log = logging.getLogger("bridle.watch")


class Watcher(Moving, kw_only=True):
    """Publishes foreign commits to the threads that `watched` names."""

    journal: Journal
    watched: Callable[[], Collection[str]]
    _version: int | None = None

    async def run(self) -> None:
        """Look until cancelled; a store that fails is asked again."""
        while True:
            await anyio.sleep(POLL_SECONDS)
            try:
                await self.look()
            except StoreError as error:
                log.warning("The store cannot be watched: %s", error)

    async def look(self) -> None:
        """Publish everything that was committed since the last look."""
        watched = self.watched()
        if not watched:
            return
        store, bus = self.journal.store, self.journal.bus
        version = await store.version()
        fresh = [name for name in watched if bus.last(name) is None]
        if version == self._version and not fresh:
            return
        for name, head in (await store.heads(watched)).items():
            last = bus.last(name)
            if last is None:
                bus.begin(name, head)
            elif head > last:
                await self.journal.publish(await store.events(name, after=last))
        self._version = version
