"""The way back: what a session's runs changed, undone with the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.app.undo import Undo, Undone
from bridle.errors import ConfigError
from bridle.types.events import CheckpointTaken

if TYPE_CHECKING:
    from bridle.app.attachment import Attachment


class SessionCheckpoints:
    """List, undo and restore."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    async def list(self) -> tuple[CheckpointTaken, ...]:
        """The checkpoints of the thread, oldest first."""
        events = await self._attachment.journal.store.events(self._attachment.thread.id)
        return tuple(event for event in events if isinstance(event, CheckpointTaken))

    async def undo(self, run_id: str | None = None) -> Undone:
        """Take back a run, the thread's last one by default: its files and its conversation."""
        return await self._undo().undo(run_id or await self._last_run())

    async def redo(self, run_id: str | None = None) -> Undone:
        """Do again what was undone."""
        return await self._undo().redo(run_id or await self._last_run())

    async def restore(self, seq: int) -> Undone:
        """Go back to an event of the thread."""
        return await self._undo().restore(self._attachment.thread.id, seq)

    def _undo(self) -> Undo:
        found = self._attachment.furnished
        if found is None or found.checkpoints is None:
            raise ConfigError("There is no workspace, so there are no files to put back.")
        return Undo(journal=self._attachment.journal, checkpoints=found.checkpoints)

    async def _last_run(self) -> str:
        rows = await self._attachment.journal.store.runs(thread_id=self._attachment.thread.id)
        if not rows:
            raise ConfigError("The thread has no runs.")
        return rows[0].run_id
