"""Snapshots before and after a call that may change files.

A call that says which files it edits has just those saved; any other that is not read-only has the
whole workspace saved, on both sides, so that the user's own edits are told apart from the call's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import BridleError
from bridle.types.base import Moving
from bridle.types.events import CheckpointTaken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.snapshots import Snapshots
    from bridle.types.tools import CallFacts


class Bracket(Moving):
    """One call between two snapshots."""

    snapshots: Snapshots | None
    facts: CallFacts
    _before: str | None = None
    _problem: str | None = None

    async def open(self) -> None:
        """Save what is there before the call; that it cannot be saved does not stop the call."""
        if self.snapshots is None or self.facts.read_only or self.facts.asks_user:
            return
        try:
            self._before = await self.snapshots.take(self._paths())
        except BridleError as error:
            self._problem = str(error)

    async def close(self, call_id: str, run_id: str) -> tuple[CheckpointTaken, ...]:
        """Save what is there after it; nothing is recorded when nothing changed."""
        if self._problem is not None:
            return (CheckpointTaken(run_id=run_id, call_id=call_id, problem=self._problem),)
        if self.snapshots is None or self._before is None:
            return ()
        try:
            after = await self.snapshots.take(self._paths())
        except BridleError as error:
            return (CheckpointTaken(run_id=run_id, call_id=call_id, problem=str(error)),)
        if after == self._before:
            return ()
        return (CheckpointTaken(run_id=run_id, call_id=call_id, before=self._before, after=after),)

    def _paths(self) -> Sequence[str] | None:
        edits = self.facts.category == "edit" and self.facts.paths
        return self.facts.paths if edits else None
