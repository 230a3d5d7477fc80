"""What a session knows without asking the store: a fold over the events of its tree of threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.app.display import DisplaySnapshot, DisplayState, restored
from bridle.app.results import Pending
from bridle.types import events as ev
from bridle.types.tools import AGENT_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.journal.recorder import Journal
    from bridle.journal.state import ThreadState
    from bridle.types.runs import PendingRow

LAST_EVENTS = 2000
"""How many events of a long run a session that comes late looks at, to show it."""


class SessionView:
    """What waits for an answer in a thread and below it."""

    def __init__(self) -> None:
        self._pending: dict[str, Pending] = {}
        self._runs: dict[str, str] = {}

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What waits, oldest first."""
        return tuple(self._pending.values())

    def load(self, rows: list[PendingRow]) -> None:
        """Begin with what the store holds."""
        self._pending = {}
        for row in rows:
            waiting = Pending(
                id=row.id,
                kind=row.kind,
                call_id=row.call_id,
                tool=row.tool,
                args=row.args,
                card=row.card,
            )
            self._add(waiting, row.run_id)

    def apply(self, event: ev.AnyEvent) -> None:
        """Take one event of the tree into account."""
        match event:
            case ev.ApprovalRequired():
                waiting = Pending(
                    id=event.approval_id,
                    kind="approval",
                    call_id=event.call_id,
                    tool=event.tool,
                    args=event.args,
                    card=event.card,
                )
                self._add(waiting, event.run_id)
            case ev.CallSuspended() if event.kind not in AGENT_KINDS:
                waiting = Pending(
                    id=event.pending_id,
                    kind=event.kind,
                    call_id=event.call_id,
                    tool=event.tool,
                    args=event.payload,
                    card={},
                )
                self._add(waiting, event.run_id)
            case ev.ApprovalAnswered():
                self._pending.pop(event.approval_id, None)
            case ev.ToolReturned():
                self._drop(lambda pending: pending.call_id == event.call_id)
            case ev.RunEnded():
                run = event.run_id
                self._drop(lambda pending: self._runs.get(pending.id) == run)
            case _:
                pass

    def _add(self, waiting: Pending, run_id: str | None) -> None:
        self._runs[waiting.id] = run_id or ""
        self._pending[waiting.id] = waiting

    def _drop(self, matches: Callable[[Pending], bool]) -> None:
        for name in [p.id for p in self._pending.values() if matches(p)]:
            self._pending.pop(name)
            self._runs.pop(name, None)


class Shown:
    """What a session shows of its thread: the display, and what waits for an answer below it."""

    def __init__(self) -> None:
        self.view = SessionView()
        self.display = DisplayState()

    async def load(self, journal: Journal, state: ThreadState, tree: list[str]) -> None:
        """Begin with a thread as it is; `tree` are its own id and those of its descendants."""
        self.view.load(await journal.store.pending(threads=tree))
        last = await _last_run(journal, state)
        self.display.reset(restored(state, last, self.view.pending))

    def clear(self) -> None:
        """Show nothing."""
        self.view.load([])
        self.display.reset(DisplaySnapshot())

    def apply(self, event: ev.AnyEvent, state: ThreadState) -> None:
        """Show what an event of the tree has changed."""
        self.view.apply(event)
        own = event if event.thread_id == state.id else None
        self.display.apply(own, self.view.pending, state.queued)


async def _last_run(journal: Journal, state: ThreadState) -> list[ev.AnyEvent]:
    """The events of the run in progress, else of the last one, and what is being written."""
    run = state.run or state.last_run
    if run is None:
        return []
    after = max(run.start.seq - 1, state.seq - LAST_EVENTS)
    events = await journal.store.events(state.id, after=after)
    ours = [event for event in events if event.run_id in (run.run_id, None)]
    return [*ours, *journal.bus.open_message(state.id)]
