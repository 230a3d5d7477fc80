"""The runs of a harness, over all of its threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.app.records import find_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.ports.store import Store
    from bridle.runs.requests import SentRequest
    from bridle.types.events import DurableEvent
    from bridle.types.runs import RunRow


class AllRuns:
    """Look runs up: running, awaiting and ended."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    async def list(
        self, *, thread_id: str | None = None, resource_id: str | None = None, limit: int = 100
    ) -> Sequence[RunRow]:
        """Runs of a thread, of a resource, or of all, newest first."""
        return await self._store().runs(thread_id=thread_id, resource_id=resource_id, limit=limit)

    async def get(self, name: str) -> RunRow:
        """A run by its id, by the end of it, or `last`; raises `ConfigError` when there is none."""
        return await find_run(self._store(), name)

    async def events(self, name: str) -> Sequence[DurableEvent]:
        """The durable events of a run, in order."""
        row = await self.get(name)
        place = await self._store().run(row.run_id)
        after = place.start_seq - 1 if place is not None else 0
        events = await self._store().events(row.thread_id, after=after)
        return [event for event in events if event.run_id == row.run_id]

    async def requests(self, name: str) -> Sequence[SentRequest]:
        """What a run sent to its models, built again from the log; the log keeps no bodies."""
        return await rebuilt_requests(self._store(), name)


async def rebuilt_requests(store: Store, name: str) -> Sequence[SentRequest]:
    """The requests of a run, in order; raises `UserError` where the log lacks what they held."""
    from bridle.runs.requests import heads_of, sent_requests

    row = await find_run(store, name)
    events = await store.events(row.thread_id)
    blobs = {
        head: blob
        for head in heads_of(events, row.run_id)
        if (blob := await store.blob(head)) is not None
    }
    return list(sent_requests(events, row.run_id, blobs))
