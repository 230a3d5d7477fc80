"""Large outputs, kept by their content."""

from __future__ import annotations

from typing import Protocol


class Artefacts(Protocol):
    """A place for bytes that are too large for the log."""

    async def save(self, body: bytes) -> str:
        """Keep bytes, synced to the disk; returns their hash."""
        ...

    async def load(self, name: str) -> bytes | None:
        """Read bytes back."""
        ...
