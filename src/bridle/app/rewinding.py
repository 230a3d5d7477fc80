"""Which runs of a thread stand, and which were taken back: a fold over its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types.base import Fixed
from bridle.types.events import ConversationRewound, RunEnded, RunStarted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.types.events import Event


class Standing(Fixed, frozen=True):
    """A run of the thread and the event that it began with."""

    run_id: str
    seq: int
    ended: bool = False


class Rewind(Fixed, frozen=True):
    """One way back: where it went, the runs that it took, and the one that it went into."""

    seq: int
    to_seq: int
    runs: tuple[Standing, ...]
    into: Standing | None = None


class Course(Fixed, frozen=True):
    """The runs that stand, oldest first, and what was taken back, newest last."""

    runs: tuple[Standing, ...]
    rewinds: tuple[Rewind, ...]

    def standing(self, run_id: str) -> Standing | None:
        """A run, if it was not taken back."""
        return next((run for run in self.runs if run.run_id == run_id), None)

    def after(self, seq: int) -> tuple[tuple[Standing, ...], Standing | None]:
        """The standing runs that began after an event, and the one that it lies in, if any."""
        taken = tuple(run for run in self.runs if run.seq > seq)
        before = [run for run in self.runs if run.seq <= seq]
        return taken, before[-1] if before else None

    @property
    def redoable(self) -> Rewind | None:
        """What was taken back last, as long as no run began since."""
        if not self.rewinds:
            return None
        last = self.rewinds[-1]
        return last if all(run.seq < last.seq for run in self.runs) else None


def course(events: Iterable[Event]) -> Course:
    """Fold the events of a thread."""
    runs: list[Standing] = []
    rewinds: list[Rewind] = []
    for event in events:
        match event:
            case RunStarted():
                runs.append(Standing(event.run_id or "", event.seq))
            case RunEnded():
                runs = [
                    Standing(run.run_id, run.seq, ended=True) if run.run_id == event.run_id else run
                    for run in runs
                ]
            case ConversationRewound(redo=True):
                if rewinds:
                    back = rewinds.pop()
                    runs = sorted([*runs, *back.runs], key=lambda run: run.seq)
            case ConversationRewound():
                taken, into = Course(tuple(runs), ()).after(event.to_seq)
                rewinds.append(Rewind(event.seq, event.to_seq, taken, into))
                runs = [run for run in runs if run not in taken]
            case _:
                pass
    return Course(tuple(runs), tuple(rewinds))
