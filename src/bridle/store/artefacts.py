"""Artefacts on disk, named by the hash of their content, or in memory."""

from __future__ import annotations

import os
from pathlib import Path

import anyio.to_thread

from bridle.types.chain import digest


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
        import tempfile

        name = digest(body)
        target = self._directory / name
        if target.exists():
            os.utime(target)  # used again: what collects garbage looks at the time
            return name
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, draft = tempfile.mkstemp(prefix=f".{name}.", dir=self._directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            Path(draft).replace(target)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
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
