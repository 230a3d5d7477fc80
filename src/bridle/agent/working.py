"""Work that something may cut: an interrupt, a pause, or the deadline of the run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import anyio
import msgspec

from bridle.agent.ending import child_interrupts, stopped_calls
from bridle.journal.recorder import Extra
from bridle.ports.clock import from_iso
from bridle.types import events as ev
from bridle.types.base import Moving
from bridle.types.ops import Interrupt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bridle.journal.recorder import ThreadLog
    from bridle.journal.run_state import RunState
    from bridle.ports.clock import Clock
    from bridle.types.messages import StopReason

T = TypeVar("T")


class Working(Moving, kw_only=True):
    """Lets the work of a drain go on until it is cut.

    `news` is set when something came in that is to be looked at before anything else is begun.
    """

    log: ThreadLog
    clock: Clock
    pausing: bool = False
    news: anyio.Event = msgspec.field(default_factory=anyio.Event)
    _given_up_to_pause: bool = False
    _work: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)
    _deadline: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)

    def pause(self) -> None:
        """Begin nothing more; what can be made again is given up, the rest is waited for."""
        self.pausing = True
        if self._given_up_to_pause:
            self._work.cancel()

    def hear(self, admitted: ev.InputAdmitted) -> None:
        """An interrupt of the open run cuts what is under way; other news waits to be seen."""
        run, op = self.log.state.run, admitted.op
        if isinstance(op, Interrupt) and run is not None and op.run_id == run.run_id:
            self._work.cancel()
        self.news.set()

    async def refresh(self) -> None:
        """Fold in what came since the last look; news that a cut kept from being folded stay."""
        self.news = anyio.Event()
        if self.log.is_current:
            return  # what others commit unheard is found by the next record
        try:
            await self.log.refresh()
        except anyio.get_cancelled_exc_class():
            self.news.set()
            raise

    async def until_paused(self, run: RunState, work: Callable[[], Awaitable[T]]) -> T | None:
        """Work that a pause cuts too, because it can be done again."""
        self._given_up_to_pause = True
        try:
            return await self.within_time(run, work)
        finally:
            self._given_up_to_pause = False

    async def within_time(self, run: RunState, work: Callable[[], Awaitable[T]]) -> T | None:
        """Work until an interrupt or the deadline cuts it; None when it was cut or not begun.

        A run that is out of time expires.
        """
        if self.news.is_set():
            return None  # look first: it may be an interrupt
        done: T | None = None
        left = self._seconds_left(run)
        with anyio.CancelScope() as self._work, self.clock.deadline(left) as self._deadline:
            done = await work()
        if self._deadline.cancelled_caught:
            await self._expire(run)
        return done

    def cut_reason(self) -> StopReason | None:
        """Why the work was cut; None when the drain only pauses."""
        if self.pausing:
            return None
        return "timeout" if self._deadline.cancel_called else "interrupted"

    def _seconds_left(self, run: RunState) -> float:
        limit = run.start.limits.timeout
        if limit is None:
            return math.inf
        return from_iso(run.start.at) + run.parked_seconds + limit - self.clock.now()

    async def _expire(self, run: RunState) -> None:
        limit = run.start.limits.timeout
        await self.log.result(
            *stopped_calls(run, "the run is out of time", kind="timeout"),
            ev.Noted(
                run_id=run.run_id,
                code="timer_expired",
                text=f"The time limit of {limit:g} s passed.",
            ),
            extra=Extra(appends=child_interrupts(run)),
        )
