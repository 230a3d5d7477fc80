"""Snapshots of a workspace behind the gate's port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.sandbox.checkpoints import Checkpoints


class WorkspaceSnapshots(Fixed, frozen=True):
    """Takes snapshots; files outside the workspace are not covered."""

    checkpoints: Checkpoints

    async def take(self, paths: Sequence[str] | None) -> str:
        """Save these files, or all."""
        if paths is None:
            return await self.checkpoints.snapshot()
        base = self.checkpoints.root + "/"
        inside = [path.removeprefix(base) for path in paths if path.startswith(base)]
        return await self.checkpoints.save_paths(inside)
