"""Ctrl-C: once rests at a safe boundary, twice leaves now. The log makes both safe."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from bridle.surfaces.cli.output import talk

if TYPE_CHECKING:
    from collections.abc import Callable


class Signals:
    """Listens for SIGINT and SIGTERM while a run goes on."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause
        self.received: int | None = None

    def install(self) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._hear, number)

    @property
    def exit_code(self) -> int | None:
        """128 and the signal, or None when there was none."""
        return None if self.received is None else 128 + self.received

    def _hear(self, number: int) -> None:
        if self.received is not None:
            talk("stopped now; go on with: bridle run --continue")
            os._exit(128 + number)
        self.received = number
        talk("stopping at a safe boundary; again to stop now")
        self._pause()
