"""When a display listener is called: changes are gathered, critical ones are shown at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from bridle.app.display import DisplaySnapshot, DisplayState
    from bridle.ports.clock import Clock

log = logging.getLogger("bridle.display")


class DisplayScheduler:
    """Calls one listener `window` seconds after the last change, `max_wait` after the first."""

    def __init__(
        self,
        *,
        display: DisplayState,
        listener: Callable[[DisplaySnapshot], object],
        clock: Clock,
        window: float,
        max_wait: float,
    ) -> None:
        self._display = display
        self._listener = listener
        self._clock = clock
        self._window = window
        self._max_wait = max_wait
        self._first: float | None = None
        self._due = 0.0
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope()

    def start(self, tasks: TaskGroup) -> Callable[[], None]:
        """Begin; returns how to stop."""
        forget = self._display.listen(self._hear)
        tasks.start_soon(self._serve, name="display subscriber")

        def stop() -> None:
            forget()
            self._scope.cancel()

        return stop

    def _hear(self, critical: bool) -> None:
        now = self._clock.now()
        if critical:
            self._show()
            return
        if self._first is None:
            self._first = now
        self._due = min(now + self._window, self._first + self._max_wait)
        self._changed.set()

    async def _serve(self) -> None:
        with self._scope:
            while True:
                await self._changed.wait()
                self._changed = anyio.Event()
                while self._first is not None:
                    left = self._due - self._clock.now()
                    if left <= 0:
                        self._show()
                    else:
                        await self._clock.sleep(left)

    def _show(self) -> None:
        self._first = None
        try:
            self._listener(self._display.snapshot)
        except Exception:  # a listener must not hurt the session
            log.exception("A display subscriber failed")
