"""Time, from one place, so that replay and tests can bring their own."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

import anyio


class Clock(Protocol):
    """Wall-clock time in seconds since the epoch, and sleeping."""

    def now(self) -> float:
        """Tell the time."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def deadline(self, seconds: float) -> anyio.CancelScope:
        """A scope that is cancelled when the time is up."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Tell the time."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)

    def deadline(self, seconds: float) -> anyio.CancelScope:
        """A scope that is cancelled when the time is up."""
        return anyio.move_on_after(seconds)


def iso(seconds: float) -> str:
    """Write a time as it stands in events: UTC, microseconds, `Z`."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_iso(text: str) -> float:
    """Read a time from an event."""
    return datetime.fromisoformat(text).timestamp()
