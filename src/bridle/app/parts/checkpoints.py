"""The way back: what a session's runs changed, undone with the conversation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bridle.app.undo import Undo, Undone
from bridle.errors import ConfigError
from bridle.types.events import CheckpointTaken, ToolCalled
from bridle.types.words import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridle.app.attachment import Attachment
    from bridle.types.events import DurableEvent


class SessionCheckpoints:
    """List, undo and restore."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    async def list(self) -> tuple[CheckpointTaken, ...]:
        """The checkpoints of the thread, oldest first."""
        events = await self._attachment.journal.store.events(self._attachment.thread.id)
        return tuple(event for event in events if isinstance(event, CheckpointTaken))

    async def changed(self, run_id: str, edited: Iterable[str] = ()) -> Sequence[str]:
        """The files that a run changed, relative to the workspace.

        `edited` are those that its edits named; what its commands changed is found by snapshots.
        """
        found_place = self._attachment.furnished
        checkpoints = found_place.checkpoints if found_place is not None else None
        if checkpoints is None:
            return tuple(edited)
        events = await self._events(run_id)
        taken = {event.call_id: event for event in events if isinstance(event, CheckpointTaken)}
        paths = {e.call_id: e.facts.paths for e in events if isinstance(e, ToolCalled)}
        real = {path for call_id in taken for path in paths.get(call_id, ())}
        found = [path for path in edited if path in real]  # the others were written as they were
        for call_id, event in taken.items():
            if not paths.get(call_id) and event.problem is None:
                changes = await checkpoints.diff(event.before, event.after)
                found += [printable(change.path) for change in changes]
        return tuple(dict.fromkeys(_relative(path, checkpoints.root) for path in found))

    async def _events(self, run_id: str) -> Sequence[DurableEvent]:
        store = self._attachment.journal.store
        place = await store.run(run_id)
        if place is None:
            return ()
        events = await store.events(place.row.thread_id, after=place.start_seq - 1)
        return [event for event in events if event.run_id == run_id]

    async def undo(self, run_id: str | None = None) -> Undone:
        """Take back a run, the thread's last one by default: its files and its conversation."""
        undo = self._undo()
        return await undo.undo(run_id or await undo.latest(self._attachment.thread.id))

    async def redo(self, run_id: str | None = None) -> Undone:
        """Do again what was undone last."""
        undo = self._undo()
        return await undo.redo(run_id or await undo.latest(self._attachment.thread.id, redo=True))

    async def restore(self, seq: int) -> Undone:
        """Go back to an event of the thread."""
        return await self._undo().restore(self._attachment.thread.id, seq)

    def _undo(self) -> Undo:
        found = self._attachment.furnished
        if found is None or found.checkpoints is None:
            raise ConfigError("There is no workspace, so there are no files to put back.")
        return Undo(journal=self._attachment.journal, checkpoints=found.checkpoints)


def _relative(path: str, root: str) -> str:
    """A path as it is told: within the workspace, relative to it."""
    place = Path(path)
    return str(place.relative_to(root)) if place.is_relative_to(root) else path
