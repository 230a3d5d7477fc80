"""A store that holds what was replayed and refuses what differs from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from bridle.errors import HeadMoved, LeaseLost, ReplayDiverged
from bridle.ports.store import Batch, Head, Store
from bridle.runs.replay.tape import is_external
from bridle.types.chain import GENESIS, link
from bridle.types.events import (
    CallSuspended,
    CheckpointTaken,
    DurableEvent,
    ErrorRaised,
    Event,
    TasksUpdated,
    ToolReturned,
    encode_event,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.runs.replay.tape import Tape
    from bridle.types.ledger import Account


PATIENCE = 500
RESULTS = (ToolReturned, CallSuspended, TasksUpdated, CheckpointTaken)
"""Events that a call's own task records when it is done."""


class ReplayStore:
    """The part of the Store port that a drain uses, over a tape.

    Events from outside the drain are put back where they stood; everything else must come from
    the drain, equal to the byte. `moved` is told whenever the tape moves.
    """

    def __init__(self, tape: Tape, original: Store, moved: Callable[[DurableEvent], None]) -> None:
        self._tape = tape
        self._original = original
        self._moved = moved
        self._written: list[DurableEvent] = []
        self._waited = (-1, 0)
        self.hash = GENESIS

    async def commit(self, batch: Batch) -> tuple[DurableEvent, ...]:
        """Compare what the drain records with what was recorded."""
        own = batch.appends[0]
        if own.expect is not None and own.expect != len(self._written):
            raise HeadMoved("the log moved")
        if own.events and self._tape.at_border:
            return self._beyond(own.events[0])
        if own.events and self._comes_later(own.events[0]):
            raise HeadMoved("the result of a call comes first")
        if own.events and not isinstance(own.events[0], ErrorRaised):
            self._tape.check()
        done = tuple(self._compare(event) for event in own.events)
        self.inject()
        if done:
            self._moved(done[-1])
        return done

    def _comes_later(self, event: Event) -> bool:
        """Whether a running call is next in the log, before what the drain decides beside it.

        The call's own task will bring its result; the decision is made again after it. A call
        that never comes is a difference, found when the decision has waited long enough.
        """
        recorded = self._tape.next
        if not isinstance(recorded, RESULTS) or type(event) is type(recorded):
            return False
        if self._waited[0] != self._tape.position:
            self._waited = (self._tape.position, 0)
        self._waited = (self._waited[0], self._waited[1] + 1)
        return self._waited[1] < PATIENCE

    def inject(self) -> None:
        """Put back the events that others wrote at this place."""
        while (event := self._tape.next) is not None and is_external(event):
            if self._tape.at_border:
                return
            self._tape.injected += 1
            self._write(self._tape.advance())
            self._moved(event)

    def begin_drain(self) -> bool:
        """Step over the record of the next drain's lease; False when there is none."""
        self.inject()
        if self._tape.next is None:
            return False
        self._tape.injected += 1
        self._write(self._tape.advance())
        self.inject()
        return True

    async def events(
        self, thread_id: str, *, after: int = 0, limit: int | None = None
    ) -> list[DurableEvent]:
        """Read what was replayed."""
        return self._written[after : None if limit is None else after + limit]

    async def head(self, thread_id: str) -> Head:
        """The end of what was replayed."""
        return Head(seq=len(self._written), hash=self.hash)

    async def blob(self, name: str) -> bytes | None:
        """Blobs are facts; they are read from the original."""
        return await self._original.blob(name)

    async def accounts(self, account_id: str) -> list[Account]:
        """Budgets were decided when the run was recorded."""
        return []

    def _beyond(self, event: Event) -> tuple[DurableEvent, ...]:
        """The drain wants to go on where the recorded one stopped: it was killed there."""
        raise LeaseLost(f"the recorded drain ended before {event.type}")

    def _compare(self, event: Event) -> DurableEvent:
        recorded = self._tape.next
        seq = len(self._written) + 1
        if recorded is None:
            raise ReplayDiverged(seq, "(the log ends)", _line(event))
        stamped = cast(
            "DurableEvent",
            msgspec.structs.replace(
                event,
                seq=recorded.seq,
                id=recorded.id,
                at=recorded.at,
                thread_id=recorded.thread_id,
            ),
        )
        if stamped != recorded:
            raise ReplayDiverged(seq, _line(recorded), _line(stamped))
        if recorded.origin == "derived":
            self._tape.recomputed += 1
        else:
            self._tape.injected += 1
        self._tape.advance()
        self._write(stamped)
        return stamped

    def _write(self, event: DurableEvent) -> None:
        self.hash = link(self.hash, encode_event(event))
        self._written.append(event)


def _line(event: Event) -> str:
    return encode_event(event).decode()
