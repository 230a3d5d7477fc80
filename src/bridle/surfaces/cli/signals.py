"""Ctrl-C: once rests at a safe boundary, twice leaves now. The log makes both safe."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio

from bridle.surfaces.cli import exits
from bridle.surfaces.cli.output import talk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator


CODES = {signal.SIGINT: exits.INTERRUPTED, signal.SIGTERM: exits.TERMINATED}


class Signals:
    """Listens for SIGINT and SIGTERM while a run goes on."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause
        self._asking: anyio.CancelScope | None = None
        self.received: signal.Signals | None = None

    def install(self) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        for number in CODES:
            loop.add_signal_handler(number, self._hear, number)

    @property
    def exit_code(self) -> int | None:
        """That of the first signal, or None when there was none."""
        return None if self.received is None else CODES[self.received]

    async def asking(self, answered: Awaitable[bool]) -> bool:
        """Wait for somebody's answers; a signal ends that at once: the run rests meanwhile."""
        with anyio.CancelScope() as scope:
            self._asking = scope
            try:
                return await answered
            finally:
                self._asking = None
        return False

    def _hear(self, number: signal.Signals) -> None:
        if self.received is not None:
            talk("stopped now; go on with: bridle run --continue")
            os._exit(CODES[number])
        self.received = number
        self._pause()
        if self._asking is not None:
            talk("")
            self._asking.cancel()
        else:
            talk("stopping at a safe boundary; again to stop now")


class CtrlC:
    """In a conversation Ctrl-C is for the line being typed or the turn that runs.

    Between the two it waits for the next of them: it must not end the conversation because it came
    a moment early. A second one that finds nobody does.
    """

    def __init__(self) -> None:
        self._heard = False
        self._waits = False
        self._before: Any = None

    def __enter__(self) -> CtrlC:
        """Begin to listen."""
        self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Here it is a `KeyboardInterrupt`, also if it came before."""
        try:
            self._heard = True
            if self._waits:
                self._waits = False
                raise KeyboardInterrupt
            yield
        finally:
            self._heard = False

    def _hear(self, *_: object) -> None:
        if self._heard or self._waits:
            raise KeyboardInterrupt
        self._waits = True
