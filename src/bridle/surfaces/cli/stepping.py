"""Rest after one step: a model request and its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types import events as ev

if TYPE_CHECKING:
    from collections.abc import Callable


class OneStep:
    """Hears the events of a run and pauses it when its first step from here is settled."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause
        self._answered = False
        self._open: set[str] = set()
        self.rested = False

    def __call__(self, event: ev.AnyEvent) -> None:
        """Take one event into account."""
        match event:
            case ev.MessageEnded() if event.message.role == "assistant":
                self._answered = True
                self._open = {call.id for call in event.message.calls}
            case ev.ToolReturned():
                self._open.discard(event.call_id)
                if self._answered and not self._open:
                    self.rested = True
                    self._pause()
            case _:
                pass
