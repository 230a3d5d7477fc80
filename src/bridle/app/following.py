"""Follow the log of a store as it grows, whoever writes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from bridle.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bridle.ports.store import Store
    from bridle.types.events import DurableEvent

POLL_SECONDS = 0.1


async def follow(
    store: Store, *, thread_id: str | None = None, from_start: bool = False
) -> AsyncIterator[DurableEvent]:
    """Events as they are committed, of one thread or of all; without end.

    A thread's events come in their order; those of a thread that begins meanwhile come whole.
    """
    if thread_id is not None and await store.thread(thread_id) is None:
        raise ConfigError(f"There is no thread {thread_id!r}. List them with: bridle threads --all")
    seen: dict[str, int] = {}
    if not from_start:
        seen = await store.heads(await _names(store, thread_id))
    version: int | None = None
    while True:
        now = await store.version()
        if now != version:
            version = now
            heads = await store.heads(await _names(store, thread_id))
            for name in sorted(heads):
                if heads[name] <= seen.get(name, 0):
                    continue
                for event in await store.events(name, after=seen.get(name, 0)):
                    seen[name] = event.seq
                    yield event
        await anyio.sleep(POLL_SECONDS)


async def _names(store: Store, thread_id: str | None) -> list[str]:
    if thread_id is not None:
        return [thread_id]
    return [thread.id for thread in await store.threads(hidden=True)]
