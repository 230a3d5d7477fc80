"""What cut the recorded drain's work short, cuts the replayed one's at the same place.

Work is cut by an interrupt, by the run's deadline, or because the drain itself was cancelled. What
the cut calls were given as results tells which it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from bridle.journal.bus import Bus
from bridle.types.events import (
    AnyEvent,
    DurableEvent,
    InputAdmitted,
    MessageEnded,
    RunEnded,
    ToolReturned,
)
from bridle.types.ops import Interrupt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.runs.replay.parts import TapeClock
    from bridle.runs.replay.tape import Tape


class QuietBus(Bus):
    """A bus on which only the replay speaks: what a drain publishes reaches nobody."""

    def publish(self, events: Iterable[AnyEvent]) -> None:
        """Say nothing."""

    def tell(self, event: DurableEvent) -> None:
        """Tell the drain of an input at its place in the log."""
        super().publish((event,))


@dataclass(slots=True, kw_only=True)
class Cuts:
    """Watches the tape and cuts."""

    tape: Tape
    bus: QuietBus
    clock: TapeClock
    drain: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _held: InputAdmitted | None = None
    _cut_text: bool = False

    def moved(self, event: DurableEvent) -> None:
        """The tape moved past an event."""
        if isinstance(event, InputAdmitted):
            if isinstance(event.op, Interrupt):
                self._held = event  # told when the work is cut, not before
            else:
                self.bus.tell(event)
        if isinstance(event, MessageEnded):
            self._cut_text = event.message.stop == "interrupted"
        self.check()

    def check(self) -> None:
        """Cut the work when the next event is the result of a cut."""
        match self.tape.next:
            case ToolReturned(kind="interrupted") if self._held is not None:
                self.bus.tell(self._held)
                self._held = None
            case ToolReturned(kind="timeout"):
                self.clock.scope.cancel()
            case ToolReturned(kind="cancelled"):
                self.drain.cancel()
            case RunEnded(reason="user_interrupt", consumes=()) if not self._cut_text:
                self.drain.cancel()
            case _:
                pass
