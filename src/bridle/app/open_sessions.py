"""The sessions of a harness, and how what concerns them all is recorded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridle.app.session import Session
    from bridle.app.workspaces import Record
    from bridle.journal.recorder import Journal
    from bridle.types.events import Event


class OpenSessions(list["Session"]):
    """In the order in which they were opened."""

    def of(self, thread_id: str) -> Session | None:
        """A session that is attached to this thread, if there is one."""
        return next((one for one in self if one.is_attached_to(thread_id)), None)

    async def records(self, journal: Journal) -> dict[str, Record]:
        """How to append to the thread of every session; threads that were deleted are left out."""
        attached = {session.thread_id for session in self if session.is_attached}
        there = [name for name in sorted(attached) if await journal.store.thread(name)]
        return {name: partial(journal.append, name) for name in there}

    async def tell(self, journal: Journal, event: Event) -> None:
        """Record an event in the thread of every session."""
        for record in (await self.records(journal)).values():
            await record(event)
