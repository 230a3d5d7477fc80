"""Take back what runs did: files and conversation together, never the user's own edits.

A conversation can only be cut, so taking back a run takes back the runs of its thread that came
after it as well. What was taken back last can be done again, until the thread goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.app.rewinding import Course, Rewind, Standing, course
from bridle.errors import ConfigError
from bridle.ports.clock import from_iso
from bridle.types.base import Fixed, Moving
from bridle.types.events import CheckpointTaken, ConversationRewound, FilesRestored
from bridle.types.words import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridle.journal.recorder import Journal
    from bridle.sandbox.checkpoints import Checkpoints
    from bridle.types.events import DurableEvent


CLOCK_STEP = 0.05
"""Seconds by which the time of a file may lag behind the time of an event."""


class Undone(Moving, kw_only=True):
    """What was put back; `kept` are files that somebody had edited since, with the reason.

    `runs` are all that were taken back or done again. `uncovered` are calls without a snapshot,
    `ignored` are files that snapshots leave out and that changed since the runs began.
    """

    run_id: str | None
    runs: list[str] = msgspec.field(default_factory=list)
    restored: list[str] = msgspec.field(default_factory=list)
    merged: list[str] = msgspec.field(default_factory=list)
    kept: list[str] = msgspec.field(default_factory=list)
    uncovered: list[str] = msgspec.field(default_factory=list)
    ignored: list[str] = msgspec.field(default_factory=list)


class Cut(Fixed, frozen=True):
    """Where a thread is cut: the event, the runs behind it, the run that it lies in.

    `before` is what was taken back already and is not taken back again.
    """

    seq: int
    runs: Sequence[Standing]
    into: Standing | None
    before: Sequence[Rewind]


class Undo(Fixed, frozen=True, kw_only=True):
    """Undoes and redoes in one workspace."""

    journal: Journal
    checkpoints: Checkpoints

    async def latest(self, thread_id: str, *, redo: bool = False) -> str:
        """The run that an undo or a redo of a thread means when none is named."""
        found = course(await self.journal.store.events(thread_id))
        if not redo:
            if not found.runs:
                raise ConfigError("The thread has no runs that could be undone.")
            return found.runs[-1].run_id
        back = found.redoable
        runs = [*back.runs, back.into] if back is not None else []
        if runs and runs[0] is not None:
            return runs[0].run_id
        raise ConfigError("Nothing was undone since the last run, so there is nothing to redo.")

    async def undo(self, run_id: str) -> Undone:
        """Take back a run, everything that it started, and the runs after it."""
        thread_id, events = await self._thread_of(run_id)
        run = course(events).standing(run_id)
        if run is None:
            raise ConfigError(f"Run {run_id} was undone already; redo brings it back.")
        return await self._back(thread_id, events, run.seq - 1, run_id)

    async def restore(self, thread_id: str, seq: int) -> Undone:
        """Go back to an event of a thread: its files and its conversation as they were then."""
        events = await self.journal.store.events(thread_id)
        if not 0 < seq <= len(events):
            raise ConfigError(f"Thread {thread_id} has events 1 to {len(events)}, not {seq}.")
        for back in course(events).rewinds:
            if back.to_seq < seq < back.seq:
                raise ConfigError(f"Event {seq} was undone at event {back.seq}; redo that first.")
        return await self._back(thread_id, events, seq, None)

    async def redo(self, run_id: str) -> Undone:
        """Do again what was taken back last, if this run was part of it."""
        thread_id, events = await self._thread_of(run_id)
        back = course(events).redoable
        taken = [*back.runs, *([back.into] if back.into else [])] if back is not None else []
        if back is None or run_id not in {run.run_id for run in taken}:
            raise ConfigError(
                f"Run {run_id} is not what was undone last, or the thread went on since, "
                "so there is nothing to redo."
            )
        redone = Undone(run_id=run_id, runs=[run.run_id for run in back.runs])
        earlier = course(events).rewinds[:-1]
        cut = Cut(back.to_seq, back.runs, back.into, earlier)
        for point in await self._points(thread_id, events, cut):
            await self._move(point.before, point.after, point, redone)
        rewound = ConversationRewound(to_seq=back.to_seq, redo=True)
        await self.journal.append(thread_id, _restored(redone, redo=True), rewound)
        return redone

    async def _back(
        self, thread_id: str, events: Sequence[DurableEvent], seq: int, run_id: str | None
    ) -> Undone:
        found: Course = course(events)
        for run in found.runs:
            if not run.ended:
                raise ConfigError(
                    f"Run {run.run_id} has not ended; abort it first, or let it end: "
                    "bridle run --continue"
                )
        taken, into = found.after(seq)
        undone = Undone(run_id=run_id, runs=[run.run_id for run in taken])
        cut = Cut(seq, taken, into, found.rewinds)
        points = await self._points(thread_id, events, cut)
        for point in reversed(points):
            await self._move(point.after, point.before, point, undone)
        if points:
            began = from_iso(events[min(seq, len(events) - 1)].at) - CLOCK_STEP
            _add(undone.ignored, await self.checkpoints.changed_ignored(began))
        await self.journal.append(
            thread_id, _restored(undone, redo=False), ConversationRewound(to_seq=seq)
        )
        return undone

    async def _thread_of(self, run_id: str) -> tuple[str, Sequence[DurableEvent]]:
        place = await self.journal.store.run(run_id)
        if place is None:
            raise ConfigError(f"There is no run {run_id}.")
        if place.row.parent_run_id is not None:
            raise ConfigError(f"Run {run_id} is part of {place.row.parent_run_id}; undo that.")
        thread_id = place.row.thread_id
        return thread_id, await self.journal.store.events(thread_id)

    async def _points(
        self, thread_id: str, events: Sequence[DurableEvent], cut: Cut
    ) -> list[CheckpointTaken]:
        """The checkpoints after an event that stand, with those of runs below, in their order."""
        found = [point for run in cut.runs for point in await self._of_run(thread_id, run.run_id)]
        if cut.into is not None and cut.seq > 0:
            spanning = await self._of_run(thread_id, cut.into.run_id)
            found += [point for point in spanning if _later(point, events[cut.seq - 1])]
        gone = [(events[back.to_seq - 1], events[back.seq - 1]) for back in cut.before]
        return sorted(
            (
                point
                for point in found
                if not any(_later(point, start) and not _later(point, end) for start, end in gone)
            ),
            key=lambda point: (point.at, point.seq),
        )

    async def _of_run(self, thread_id: str, run_id: str) -> list[CheckpointTaken]:
        """The checkpoints of a run and of the runs below it."""
        store = self.journal.store
        found = [
            event
            for event in await store.events(thread_id)
            if isinstance(event, CheckpointTaken) and event.run_id == run_id
        ]
        for child in await store.children(thread_id):
            rows = await store.runs(thread_id=child)
            if any(row.parent_run_id == run_id for row in rows):
                for row in rows:
                    found += await self._of_run(child, row.run_id)
        return found

    async def _move(
        self, from_tree: str, to_tree: str, point: CheckpointTaken, undone: Undone
    ) -> None:
        if point.problem is not None:
            undone.uncovered.append(f"{point.call_id}: {point.problem}")
            return
        result = await self.checkpoints.restore(from_tree, to_tree)
        _add(undone.restored, result.restored)
        _add(undone.merged, result.merged)
        _add(undone.kept, (f"{conflict.path}: {conflict.why}" for conflict in result.conflicts))


def _later(point: CheckpointTaken, event: DurableEvent) -> bool:
    """Whether a checkpoint was taken after an event, by place in one thread, else by time."""
    if point.thread_id == event.thread_id:
        return point.seq > event.seq
    return point.at > event.at


def _add(known: list[str], more: Iterable[str]) -> None:
    known += [name for name in map(printable, more) if name not in known]


def _restored(undone: Undone, *, redo: bool) -> FilesRestored:
    return FilesRestored(
        undone_run_id=undone.run_id,
        restored=tuple(undone.restored),
        merged=tuple(undone.merged),
        kept=tuple(undone.kept),
        redo=redo,
    )
