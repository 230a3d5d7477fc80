"""The recorded log, and how far the replay has come in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio
import msgspec

from bridle.errors import LeaseLost, ReplayDiverged
from bridle.types.events import (
    DurableEvent,
    ErrorRaised,
    Event,
    HookRan,
    LeaseTaken,
    MessageEnded,
    SettingsChanged,
    TasksUpdated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PATIENCE = 30.0
"""Seconds without progress after which a replay is given up; it does nothing that takes time."""

E = TypeVar("E", bound=Event)


def is_external(event: Event) -> bool:
    """Whether an event was written by others than the drain."""
    if isinstance(event, SettingsChanged):
        return event.call_id is msgspec.UNSET
    ours = isinstance(event, MessageEnded) and bool(event.consumes)
    copied = (
        isinstance(event, MessageEnded | HookRan | TasksUpdated)
        and event.run_id is None
        and not ours
    )
    return copied or event.origin == "external"


def bare(event: E) -> E:
    """An event without its stamps."""
    return msgspec.structs.replace(event, seq=0, id="", at="", thread_id="")


class RecordedDefect(Exception):
    """The recorded drain failed here, for a reason that a replay cannot have."""


class Tape:
    """Recorded events and a position; waiters are woken whenever it moves."""

    def __init__(self, events: Sequence[DurableEvent]) -> None:
        self.events = list(events)
        self.position = 0
        self.injected = 0
        self.recomputed = 0
        self._moved = anyio.Event()

    @property
    def next(self) -> DurableEvent | None:
        """The event that the replay must produce now."""
        return self.events[self.position] if self.position < len(self.events) else None

    @property
    def at_border(self) -> bool:
        """Whether the recorded drain was over here: the log ends, or another drain begins."""
        return self.next is None or isinstance(self.next, LeaseTaken)

    @property
    def defect(self) -> ErrorRaised | None:
        """What ended the recorded run here, when that was a defect of the drain."""
        event = self.next
        failed = isinstance(event, ErrorRaised) and event.error.type == "internal"
        return event if isinstance(event, ErrorRaised) and failed else None

    def check(self) -> None:
        """Fail where the recorded drain failed."""
        if self.defect is not None:
            raise RecordedDefect

    def advance(self) -> DurableEvent:
        """Move past the next event."""
        event = self.events[self.position]
        self.position += 1
        self._moved.set()
        self._moved = anyio.Event()
        return event

    def ahead(self, kind: type[E], matches: Callable[[E], bool]) -> E | None:
        """Find the next event of a kind within the present drain."""
        for event in self.events[self.position :]:
            if isinstance(event, LeaseTaken):
                return None
            if isinstance(event, kind) and matches(event):
                return event
        return None

    async def border(self) -> None:
        """Wait until the recorded drain is over."""
        while not self.at_border:
            await self._wait()

    async def reach(self, event: Event) -> None:
        """Wait until an event is the next one; the end of the drain ends the wait."""
        while self.next is not event:
            if self.at_border:
                raise LeaseLost("the recorded drain ended here")
            await self._wait()

    async def _wait(self) -> None:
        self.check()
        with anyio.move_on_after(PATIENCE) as scope:
            await self._moved.wait()
        if scope.cancelled_caught:
            recorded = self.next.type if self.next is not None else "(the log ends)"
            raise ReplayDiverged(self.position + 1, recorded, "(nothing: the replay stands still)")
