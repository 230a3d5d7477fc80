"""Take back what runs did: files and conversation together, never the user's own edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.errors import ConfigError
from bridle.types.base import Fixed, Moving
from bridle.types.events import CheckpointTaken, ConversationRewound, Event, FilesRestored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.journal.recorder import Journal
    from bridle.sandbox.checkpoints import Checkpoints


class Undone(Moving, kw_only=True):
    """What was put back; `kept` are files that somebody had edited since, with the reason."""

    run_id: str | None
    restored: list[str] = msgspec.field(default_factory=list)
    merged: list[str] = msgspec.field(default_factory=list)
    kept: list[str] = msgspec.field(default_factory=list)
    uncovered: list[str] = msgspec.field(default_factory=list)


class Undo(Fixed, frozen=True, kw_only=True):
    """Undoes and redoes in one workspace."""

    journal: Journal
    checkpoints: Checkpoints

    async def undo(self, run_id: str) -> Undone:
        """Take back a run and everything that it started."""
        place = await self.journal.store.run(run_id)
        if place is None:
            raise ConfigError(f"There is no run {run_id}.")
        if place.row.status != "ended":
            raise ConfigError(f"Run {run_id} has not ended; abort it first.")
        taken = await self._checkpoints_of(place.row.thread_id, run_id)
        undone = Undone(run_id=run_id)
        for checkpoint in reversed(taken):
            await self._restore(checkpoint.after, checkpoint.before, checkpoint, undone)
        await self.journal.append(
            place.row.thread_id,
            _restored(undone, redo=False),
            ConversationRewound(to_seq=place.start_seq - 1),
        )
        return undone

    async def redo(self, run_id: str) -> Undone:
        """Do again what an undo of this run took back."""
        place = await self.journal.store.run(run_id)
        if place is None:
            raise ConfigError(f"There is no run {run_id}.")
        thread_id = place.row.thread_id
        if not _is_undone(await self.journal.store.events(thread_id), run_id):
            raise ConfigError(f"Run {run_id} was not undone, so there is nothing to redo.")
        redone = Undone(run_id=run_id)
        for checkpoint in await self._checkpoints_of(thread_id, run_id):
            await self._restore(checkpoint.before, checkpoint.after, checkpoint, redone)
        await self.journal.append(
            thread_id,
            _restored(redone, redo=True),
            ConversationRewound(to_seq=place.start_seq - 1, redo=True),
        )
        return redone

    async def restore(self, thread_id: str, seq: int) -> Undone:
        """Go back to an event of a thread: its files and its conversation as they were then."""
        events = await self.journal.store.events(thread_id)
        if not 0 < seq <= len(events):
            raise ConfigError(f"Thread {thread_id} has events 1 to {len(events)}, not {seq}.")
        if await self.journal.store.lease(thread_id) is not None:
            raise ConfigError(f"Thread {thread_id} is being worked on; abort it first.")
        undone = Undone(run_id=None)
        later = [e for e in events if isinstance(e, CheckpointTaken) and e.seq > seq]
        for checkpoint in reversed(later):
            await self._restore(checkpoint.after, checkpoint.before, checkpoint, undone)
        rewound = ConversationRewound(to_seq=seq)
        await self.journal.append(thread_id, _restored(undone, redo=False), rewound)
        return undone

    async def _checkpoints_of(self, thread_id: str, run_id: str) -> list[CheckpointTaken]:
        """The checkpoints of a run and of the runs below it, in the order they were taken."""
        store = self.journal.store
        found = [
            event
            for event in await store.events(thread_id)
            if isinstance(event, CheckpointTaken) and event.run_id == run_id
        ]
        for child in await store.children(thread_id):
            rows = await store.runs(thread_id=child)
            if any(row.parent_run_id == run_id for row in rows):
                for row in rows:
                    found += await self._checkpoints_of(child, row.run_id)
        return sorted(found, key=lambda event: event.at)

    async def _restore(
        self, from_tree: str, to_tree: str, checkpoint: CheckpointTaken, undone: Undone
    ) -> None:
        if checkpoint.problem is not None:
            undone.uncovered.append(f"{checkpoint.call_id}: {checkpoint.problem}")
            return
        result = await self.checkpoints.restore(from_tree, to_tree)
        undone.restored += [path for path in result.restored if path not in undone.restored]
        undone.merged += [path for path in result.merged if path not in undone.merged]
        undone.kept += [f"{conflict.path}: {conflict.why}" for conflict in result.conflicts]


def _restored(undone: Undone, *, redo: bool) -> FilesRestored:
    return FilesRestored(
        undone_run_id=undone.run_id,
        restored=tuple(undone.restored),
        merged=tuple(undone.merged),
        kept=tuple(undone.kept),
        redo=redo,
    )


def _is_undone(events: Iterable[Event], run_id: str) -> bool:
    last = [e for e in events if isinstance(e, FilesRestored) and e.undone_run_id == run_id]
    return bool(last) and not last[-1].redo
