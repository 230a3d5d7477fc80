"""Drive the turn over a tape and compare."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import anyio

from bridle.agent.ending import Ending
from bridle.agent.turn import Turn
from bridle.errors import LeaseLost, ReplayDiverged
from bridle.journal.recorder import Journal, ThreadLog
from bridle.journal.state import ThreadState
from bridle.runs.replay.cuts import Cuts, QuietBus
from bridle.runs.replay.model import recorded_delay
from bridle.runs.replay.parts import TapeClock, TapePreparer
from bridle.runs.replay.store import ReplayStore
from bridle.runs.replay.tape import RecordedDefect, Tape
from bridle.types.chain import GENESIS, first_break, link
from bridle.types.events import (
    LeaseTaken,
    ModeChanged,
    ModelChanged,
    RunEnded,
    SubagentStarted,
)
from bridle.types.threads import Lease

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.store import Store
    from bridle.types.events import DurableEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a replay found: `equal` when every event came again and the chain ends the same."""

    thread_id: str
    events: int
    recomputed: int
    injected: int
    hash: str
    recorded_hash: str
    children: tuple[Replayed, ...] = ()
    divergence: ReplayDiverged | None = None

    @property
    def equal(self) -> bool:
        """Whether the run, and every run below it, repeated itself exactly."""
        own = self.divergence is None and self.hash == self.recorded_hash
        return own and all(child.equal for child in self.children)


async def replay_thread(store: Store, thread_id: str, *, until: str | None = None) -> Replayed:
    """Replay a thread's log, to the end of run `until` if given, and its children's logs."""
    head = await store.head(thread_id)
    records = await store.records(thread_id)
    broken = first_break(records, head=(head.seq, head.hash))
    if broken is not None:
        return _broken(thread_id, records, broken)
    events = await store.events(thread_id)
    if until is not None:
        events = events[: _end_of(until, events)]
    tape = Tape(events)
    found_hash, divergence = await _drive(tape, store, thread_id)
    children = [
        await replay_thread(store, event.child_thread_id)
        for event in events
        if isinstance(event, SubagentStarted)
    ]
    return Replayed(
        thread_id=thread_id,
        events=len(events),
        recomputed=tape.recomputed,
        injected=tape.injected,
        hash=found_hash,
        recorded_hash=records[len(events) - 1][1] if events else found_hash,
        children=tuple(children),
        divergence=divergence,
    )


async def _drive(tape: Tape, store: Store, thread_id: str) -> tuple[str, ReplayDiverged | None]:
    """Replay drain after drain; a drain that was killed is left where it was killed."""
    bus = QuietBus()
    cuts = Cuts(tape=tape, bus=bus)
    clock = TapeClock(tape, cuts)
    replay = ReplayStore(tape, store, cuts)
    journal = Journal(store=cast("Store", replay), bus=bus)
    state = ThreadState(thread_id)
    while replay.begin_drain():
        log = ThreadLog(journal=journal, lease=_lease(tape, thread_id), state=state)
        turn = Turn(
            log=log,
            prepare=TapePreparer(tape, store),
            clock=clock,
            next_delay=lambda _error, _attempt: recorded_delay(tape),
        )
        divergence = await _drain(turn, log, tape, cuts)
        if divergence is not None:
            return replay.hash, divergence
    return replay.hash, None


def _end_of(run_id: str, events: Sequence[DurableEvent]) -> int:
    """Behind the end of a run, and what was committed with it: the mode that it was ended for."""
    ended = (i for i, e in enumerate(events) if isinstance(e, RunEnded) and e.run_id == run_id)
    end = next(ended, len(events) - 1) + 1
    while end < len(events) and _with_the_end(events[end]):
        end += 1
    return end


def _with_the_end(event: DurableEvent) -> bool:
    return isinstance(event, ModeChanged | ModelChanged) and not event.consumes


async def _drain(turn: Turn, log: ThreadLog, tape: Tape, cuts: Cuts) -> ReplayDiverged | None:
    """Replay one drain; it goes on while there is news, as a drain does."""
    while not tape.at_border:
        position = tape.position
        try:
            await log.refresh()
            await _turn(turn, tape, cuts)
            ending = Ending(log=log, clock=turn.clock)
            if cuts.drain.cancel_called:  # where nothing waited that could have noticed
                await ending.abandon()
            if tape.defect is not None:
                await ending.fail(tape.defect.error)
        except ReplayDiverged as found:
            return found
        if tape.position == position:
            break
    if tape.at_border:
        return None
    following = tape.next
    recorded = following.type if following is not None else "(the log ends)"
    return ReplayDiverged(tape.position + 1, recorded, "(no event)")


async def _turn(turn: Turn, tape: Tape, cuts: Cuts) -> None:
    """Drain until nothing is left, or to where the recorded drain was killed or failed."""
    with contextlib.suppress(LeaseLost, RecordedDefect), anyio.CancelScope() as cuts.drain:
        cuts.check()
        tape.check()
        await turn.drain()


def _lease(tape: Tape, thread_id: str) -> Lease:
    taken = next(
        event for event in reversed(tape.events[: tape.position]) if isinstance(event, LeaseTaken)
    )
    return Lease(
        thread_id=thread_id, owner=taken.owner, epoch=taken.epoch, since=taken.at, expires=0.0
    )


def _broken(thread_id: str, records: list[tuple[int, str, bytes]], seq: int) -> Replayed:
    """A log that was changed after it was written is not replayed, only reported."""
    head = records[seq - 2][1] if seq > 1 else GENESIS
    recorded = replayed = "(no event: the end of the log is missing)"
    if seq <= len(records):
        number, found, body = records[seq - 1]
        recorded = f"event {number} with hash {found[:16]}… {body.decode('utf-8', 'replace')}"
        replayed = f"event {seq} with hash {link(head, body)[:16]}…: the record was changed"
    return Replayed(
        thread_id=thread_id,
        events=len(records),
        recomputed=0,
        injected=0,
        hash=head,
        recorded_hash=records[-1][1] if records else GENESIS,
        divergence=ReplayDiverged(seq, recorded, replayed),
    )
