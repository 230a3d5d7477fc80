"""Snapshots of the workspace around a call, so that what it did can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Snapshots(Protocol):
    """Saves the whole workspace, or some of its files; a snapshot has the id of its tree."""

    async def take(self, paths: Sequence[str] | None) -> str:
        """Save these files, or all; raises `ToolError` when that is not possible."""
        ...
