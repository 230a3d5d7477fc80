"""Artefacts on disk, named by the hash of their content, or in memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import anyio.to_thread

from bridle.types.chain import digest

if TYPE_CHECKING:
    from pathlib import Path


class FileArtefacts:
    """One file per artefact, synced before its name is told."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def save(self, body: bytes) -> str:
        """Keep bytes and return their hash."""
        return await anyio.to_thread.run_sync(self._write, body)

    async def load(self, name: str) -> bytes | None:
        """Read bytes back."""
        return await anyio.to_thread.run_sync(self._read, name)

    def _write(self, body: bytes) -> str:
        name = digest(body)
        target = self._directory / name
        if target.exists():
            return name
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._directory / f".{name}.{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
        _sync_directory(self._directory)
        return name

    def _read(self, name: str) -> bytes | None:
        try:
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return None


class MemoryArtefacts:
    """Artefacts for this process alone."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}

    async def save(self, body: bytes) -> str:
        """Keep bytes and return their hash."""
        name = digest(body)
        self._bodies[name] = body
        return name

    async def load(self, name: str) -> bytes | None:
        """Read bytes back."""
        return self._bodies.get(name)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
