"""What cut the recorded drain's work short, cuts the replayed one's at the same place.

Work is cut by an interrupt, by the run's deadline, because the drain itself was cancelled, or by a
defect. What the log says next tells which it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import anyio

from bridle.journal.bus import Bus
from bridle.types.events import (
    AnyEvent,
    ApprovalAnswered,
    BudgetSettled,
    DurableEvent,
    InputAdmitted,
    MessageEnded,
    Noted,
    RunEnded,
    ToolReturned,
)
from bridle.types.ops import Interrupt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.runs.replay.tape import Tape

Cut = Literal["interrupted", "timeout", "cancelled"]


class QuietBus(Bus):
    """A bus on which only the replay speaks: what a drain publishes reaches nobody."""

    def publish(self, events: Iterable[AnyEvent]) -> None:
        """Say nothing."""

    def tell(self, event: DurableEvent) -> None:
        """Tell the drain of an input, also when later ones were told before it."""
        for listener in tuple(self._by_thread.get(event.thread_id, ())):
            listener(event)


@dataclass(slots=True, kw_only=True)
class Cuts:
    """Watches the tape and cuts."""

    tape: Tape
    bus: QuietBus
    drain: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    deadline: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _held: list[InputAdmitted] = field(default_factory=list)

    def moved(self, event: DurableEvent) -> None:
        """The tape moved past an event."""
        if isinstance(event, InputAdmitted) and isinstance(event.op, Interrupt):
            self._held.append(event)  # told when the work is cut, not before
        self.check()

    def seen(self, event: DurableEvent) -> None:
        """The drain can see an event that somebody else wrote."""
        if isinstance(event, InputAdmitted) and not isinstance(event.op, Interrupt):
            self.bus.tell(event)

    def check(self) -> None:
        """Cut the work when the next event is the result of a cut."""
        match upcoming_cut(self.tape):
            case "interrupted":
                self._interrupt()
            case "cancelled":
                self.drain.cancel()
            case "timeout":
                self.deadline.cancel()
            case None:
                pass

    def _interrupt(self) -> None:
        held, self._held = self._held, []
        for event in held:
            self.bus.tell(event)

    def new_deadline(self) -> anyio.CancelScope:
        """A scope for the work that begins; it is cut at once where the recorded one was."""
        self.deadline = anyio.CancelScope()
        self.check()
        return self.deadline


def upcoming_cut(tape: Tape) -> Cut | None:
    """Tell how the work that leads to the next event was cut, if it was."""
    for event in tape.events[tape.position :]:
        match event:
            case ApprovalAnswered(consumes=()) | BudgetSettled(estimated=True):
                continue  # part of an end, or of an ordinary settlement: what follows tells
            case ToolReturned(stopped=True, kind="timeout") | Noted(code="timer_expired"):
                return "timeout"
            case ToolReturned(stopped=True, kind="cancelled"):
                return "cancelled"
            case ToolReturned(stopped=True):
                return "interrupted"
            case MessageEnded() if event.message.stop == "timeout":
                return "timeout"
            case MessageEnded() if event.message.stop == "interrupted":
                return "interrupted" if _asked_to_end(tape, event.run_id) else "cancelled"
            case RunEnded(reason="user_interrupt"):
                return "interrupted" if event.consumes else "cancelled"
            case _:
                return None
    return None


def _asked_to_end(tape: Tape, run_id: str | None) -> bool:
    """Whether an interrupt of the run waited when its answer was cut."""
    return any(
        isinstance(event, InputAdmitted)
        and isinstance(event.op, Interrupt)
        and event.op.run_id == run_id
        for event in tape.events[: tape.position]
    )
