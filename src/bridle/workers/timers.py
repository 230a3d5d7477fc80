"""Deadlines of calls that wait for other agents: when one passes, the thread's inbox is told.

The deadline stands in the log, so a timer that dies with its process is set again by the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.types.base import Moving
from bridle.types.events import AnyEvent, CallSuspended, ToolReturned
from bridle.types.ops import Expire

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from bridle.journal.recorder import Journal
    from bridle.journal.run_state import RunState
    from bridle.ports.clock import Clock


class Timers(Moving, kw_only=True):
    """The deadlines that this process watches; `passed` is called with the thread of each."""

    journal: Journal
    clock: Clock
    tasks: TaskGroup
    passed: Callable[[str], None]
    _set: dict[str, tuple[str, anyio.CancelScope]] = msgspec.field(default_factory=dict)

    @property
    def threads(self) -> set[str]:
        """The threads that have a deadline."""
        return {thread_id for thread_id, _ in self._set.values()}

    def hear(self, event: AnyEvent) -> None:
        """Take an event of a thread of ours into account."""
        match event:
            case CallSuspended(kind="wait"):
                self.start(event.thread_id, event.call_id, event.payload["deadline"])
            case ToolReturned() if event.call_id in self._set:
                self._set[event.call_id][1].cancel()
            case _:
                pass

    def restore(self, thread_id: str, run: RunState) -> None:
        """Watch the deadlines of a run that an earlier process left parked."""
        for call in run.open_calls:
            if call.pending_kind == "wait" and call.stage == "suspended":
                self.start(thread_id, call.call.id, call.payload["deadline"])

    def start(self, thread_id: str, call_id: str, deadline: float) -> None:
        """Watch one deadline, once."""
        if call_id not in self._set and not self.tasks.cancel_scope.cancel_called:
            scope = anyio.CancelScope()
            self._set[call_id] = (thread_id, scope)
            self.tasks.start_soon(self._watch, thread_id, call_id, deadline, scope)

    async def _watch(
        self, thread_id: str, call_id: str, deadline: float, scope: anyio.CancelScope
    ) -> None:
        try:
            with scope:
                await self.clock.sleep(max(0.0, deadline - self.clock.now()))
                op = Expire(call_id=call_id)
                await self.journal.admit(thread_id, op, input_id=f"{call_id}.expire")
        finally:
            del self._set[call_id]
            self.passed(thread_id)
