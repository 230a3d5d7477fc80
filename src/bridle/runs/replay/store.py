"""A store that holds what was replayed and refuses what differs from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from bridle.errors import HeadMoved, LeaseLost, ReplayDiverged
from bridle.ports.store import Batch, Head, Store
from bridle.runs.replay.tape import is_external
from bridle.types.chain import GENESIS, link
from bridle.types.events import (
    BudgetSettled,
    CallSuspended,
    CheckEnded,
    CheckpointTaken,
    CheckStarted,
    DurableEvent,
    ErrorRaised,
    Event,
    HookRan,
    MessageEnded,
    Noted,
    PermissionGranted,
    SettingsChanged,
    SubagentStarted,
    TasksUpdated,
    ToolReturned,
    encode_event,
)

if TYPE_CHECKING:
    from bridle.runs.replay.cuts import Cuts
    from bridle.runs.replay.tape import Tape
    from bridle.types.ledger import Account


PATIENCE = 10_000
"""How often a decision is held back for a result before it is taken for a difference."""


class ReplayStore:
    """The part of the Store port that a drain uses, over a tape.

    Events from outside the drain are put back where they stood; everything else must come from
    the drain, equal to the byte. `cuts` is told whenever the tape moves.

    An input that stands before a result was perhaps not seen when that result's work began. So it
    stays hidden from the drain until the result is recorded, as late as the recorded drain can
    have seen it; before a decision it is shown at once, because a decision knows all before it.
    """

    def __init__(self, tape: Tape, original: Store, cuts: Cuts) -> None:
        self._tape = tape
        self._original = original
        self._cuts = cuts
        self._written: list[DurableEvent] = []
        self._shown = 0
        self._held_back = 0
        self.hash = GENESIS

    async def commit(self, batch: Batch) -> tuple[DurableEvent, ...]:
        """Compare what the drain records with what was recorded."""
        own = batch.appends[0]
        if own.expect is not None and own.expect != len(self._written):
            self._show()
            raise HeadMoved("the log moved")
        if own.events and self._tape.at_border:
            return self._beyond(own.events[0])
        if own.events:
            self._check_turn(own.events[0])
        done = tuple(self._compare(event) for event in own.events)
        self._shown = len(self._written)
        self._held_back = 0
        self.inject()
        if done:
            self._cuts.moved(done[-1])
        return done

    def inject(self) -> None:
        """Put back the events that others wrote at this place."""
        while (event := self._tape.next) is not None and is_external(event):
            if self._tape.at_border:
                break
            self._tape.injected += 1
            self._write(self._tape.advance())
            self._cuts.moved(event)
        if not is_result(self._tape.next):
            self._show()

    def _show(self) -> None:
        """Let the drain see what others wrote."""
        unseen, self._shown = self._written[self._shown :], len(self._written)
        for event in unseen:
            self._cuts.seen(event)

    def _check_turn(self, event: Event) -> None:
        """Fail where the recorded drain failed; let a result that was recorded first go first."""
        if not isinstance(event, ErrorRaised):
            self._tape.check()
        following = self._tape.next
        if is_result(following) and not _same_call(event, following):
            self._held_back += 1
            if self._held_back < PATIENCE:
                raise HeadMoved("the result of another call comes first")

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
        shown = self._written[: self._shown]
        return shown[after : None if limit is None else after + limit]

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


def is_result(event: Event | None) -> bool:
    """Whether an event came from work and not from a decision of the drain."""
    match event:
        case ToolReturned(consumes=(), stopped=False, ambiguous=False) | CallSuspended():
            return True
        case MessageEnded():
            return event.message.role == "assistant"
        case HookRan():
            return event.moment in ("returned", "closing", "reaction")
        case BudgetSettled() | CheckStarted() | CheckEnded() | TasksUpdated() | CheckpointTaken():
            return True
        case SubagentStarted():
            return True
        case Noted() | SettingsChanged() | PermissionGranted():
            return event.call_id is not msgspec.UNSET
        case _:
            return False


def _same_call(one: Event, other: Event | None) -> bool:
    """Whether two events are of one type and about one call, if they are about calls at all."""
    return type(one) is type(other) and getattr(one, "call_id", "") == getattr(other, "call_id", "")


def _line(event: Event) -> str:
    return encode_event(event).decode()
