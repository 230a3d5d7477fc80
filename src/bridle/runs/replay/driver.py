"""Drive the turn over a tape and compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import anyio

from bridle.agent.turn import Turn
from bridle.errors import LeaseLost, ReplayDiverged
from bridle.journal.recorder import Journal, ThreadLog
from bridle.journal.state import ThreadState
from bridle.runs.replay.cuts import Cuts, QuietBus
from bridle.runs.replay.parts import TapeClock, TapePreparer, recorded_delay
from bridle.runs.replay.store import ReplayStore
from bridle.runs.replay.tape import Tape
from bridle.types.events import LeaseTaken, RunEnded, SubagentStarted
from bridle.types.threads import Lease

if TYPE_CHECKING:
    from bridle.ports.store import Store


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
    records = await store.records(thread_id)
    events = await store.events(thread_id)
    if until is not None:
        end = next(
            (i for i, e in enumerate(events) if isinstance(e, RunEnded) and e.run_id == until),
            len(events) - 1,
        )
        events = events[: end + 1]
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
    clock = TapeClock(tape)
    cuts = Cuts(tape=tape, bus=bus, clock=clock)
    replay = ReplayStore(tape, store, cuts.moved)
    journal = Journal(store=cast("Store", replay), bus=bus)
    state = ThreadState(thread_id)
    while replay.begin_drain():
        log = ThreadLog(journal=journal, lease=_lease(tape, thread_id), state=state)
        await log.refresh()
        turn = Turn(
            log=log,
            prepare=TapePreparer(tape, store),
            clock=clock,
            next_delay=lambda _error, _attempt: recorded_delay(tape),
        )
        divergence = await _drain(turn, tape, cuts)
        if divergence is not None:
            return replay.hash, divergence
    return replay.hash, None


async def _drain(turn: Turn, tape: Tape, cuts: Cuts) -> ReplayDiverged | None:
    found: ReplayDiverged | None = None
    try:
        with anyio.CancelScope() as cuts.drain:
            cuts.check()
            await turn.drain()
    except* LeaseLost:
        pass
    except* ReplayDiverged as group:
        found = first(group)
    if found is not None:
        return found
    if tape.at_border:
        return None
    following = tape.next
    recorded = following.type if following is not None else "(the log ends)"
    return ReplayDiverged(tape.position + 1, recorded, "(no event)")


def _lease(tape: Tape, thread_id: str) -> Lease:
    taken = next(
        event for event in reversed(tape.events[: tape.position]) if isinstance(event, LeaseTaken)
    )
    return Lease(
        thread_id=thread_id, owner=taken.owner, epoch=taken.epoch, since=taken.at, expires=0.0
    )


def first(group: BaseExceptionGroup[ReplayDiverged]) -> ReplayDiverged:
    """The first divergence of a group."""
    inner = group.exceptions[0]
    return first(inner) if isinstance(inner, BaseExceptionGroup) else inner
