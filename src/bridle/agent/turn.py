"""The loop of a drain: what the log left open first, then the next step, until there is no more.

Every record is decided on the state up to the last event. When somebody appends in between, the
decision is refused and made again, so the whole drain is a function of the log and its inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from bridle.agent.attending import Attending
from bridle.agent.calls import Calls
from bridle.agent.closing import Closing
from bridle.agent.ending import Ending
from bridle.agent.hooked import Hooked
from bridle.agent.starting import Starting
from bridle.agent.step import Step
from bridle.agent.termination import stop_reason
from bridle.agent.working import Working
from bridle.errors import HeadMoved
from bridle.gate.batch import runnable
from bridle.types import events as ev

if TYPE_CHECKING:
    from bridle.agent.setup import Prepare, RunSetup
    from bridle.agent.step import NextDelay
    from bridle.journal.recorder import ThreadLog
    from bridle.journal.run_state import RunState
    from bridle.ports.clock import Clock


class Turn:
    """One drain of one thread, under a lease that somebody else keeps alive."""

    def __init__(
        self, *, log: ThreadLog, prepare: Prepare, clock: Clock, next_delay: NextDelay
    ) -> None:
        self.log = log
        self.clock = clock
        self._next_delay = next_delay
        self._ending = ending = Ending(log=log, clock=clock)
        self._working = working = Working(log=log, clock=clock)
        self._starting = starting = Starting(log=log, prepare=prepare, ending=ending)
        self._attending = Attending(log=log, starting=starting, ending=ending, working=working)
        self._closing = Closing(log=log, ending=ending, working=working)

    async def drain(self) -> None:
        """Do everything that can be done now."""
        unsubscribe = self.log.journal.bus.subscribe(self._hear, thread_id=self.log.state.id)
        try:
            while not self._working.pausing:
                try:
                    if not await self._advance():
                        return
                except HeadMoved:
                    continue
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._ending.abandon()
            raise
        finally:
            unsubscribe()

    def pause(self) -> None:
        """Rest at the next safe boundary: a request is given up, running calls are waited for."""
        self._working.pause()

    def _hear(self, event: ev.AnyEvent) -> None:
        if isinstance(event, ev.InputAdmitted):
            self._working.hear(event)
        else:
            self._starting.notice(event)

    async def _advance(self) -> bool:
        """Take one decision; False when nothing can go on."""
        if self._working.news.is_set():
            await self._working.refresh()
        run = self.log.state.run
        if run is None:
            return await self._starting.begin()
        setup = await self._starting.set_up(run)
        if setup is None:
            return True
        await self._attending.attend(run, setup)
        if self.log.state.run is not run or not setup.is_of(run.model_id, run.mode_id):
            return True
        if not run.paused:
            await self._react(run, setup)
        if run.halted is not None:
            await self._closing.halt(run, run.halted)
            return True
        if run.paused:
            if not _can_go_on(run, setup):
                return False
            await self.log.decide(ev.RunResumed(run_id=run.run_id))
        await self._go_on(run, setup)
        return True

    async def _go_on(self, run: RunState, setup: RunSetup) -> None:
        """Do what comes next in a run: what the log left open first, then another step."""
        step = self._step(run, setup)
        if run.request is not None:
            await step.settle_orphan()
            return
        if run.held_calls and not run.expired:
            hooked = Hooked(log=self.log, setup=setup)
            await self._working.within_time(run, lambda: hooked.decide(run))
            return
        if run.open_calls and not run.expired:
            await self._working.within_time(run, lambda: self._settle_calls(run, setup))
            if not _can_go_on(run, setup):
                await self._rest(run, setup)
            return
        stop = stop_reason(self.log.state, run)
        if stop is not None:
            await self._closing.close(run, setup, stop)
            return
        if await self._has_enough(run, setup) or await self._attending.listen(run, setup):
            return
        await self._working.until_paused(run, step.take)

    def _step(self, run: RunState, setup: RunSetup) -> Step:
        return Step(
            log=self.log,
            run=run,
            setup=setup,
            clock=self.clock,
            next_delay=self._next_delay,
            cut_reason=self._working.cut_reason,
        )

    async def _settle_calls(self, run: RunState, setup: RunSetup) -> None:
        calls = Calls(
            log=self.log,
            setup=setup,
            values=dict(run.values),
            attend=lambda: self._attending.attend_quietly(run, setup),
            news=lambda: self._working.news,
            suspects=self._starting.suspects,
            now=self.clock.now,
        )
        await calls.settle(run)

    async def _has_enough(self, run: RunState, setup: RunSetup) -> bool:
        """Record that the step which has just finished was the last one needed, if it was."""
        if setup.stop_when is None or run.last is None or not run.last.calls:
            return False
        if not setup.stop_when(run):
            return False
        text = f"stop_when ended the run after step {run.steps}."
        await self.log.decide(ev.Noted(run_id=run.run_id, code="stop_when", text=text))
        return True

    async def _react(self, run: RunState, setup: RunSetup) -> None:
        """Tell hooks of what was recorded since."""
        if setup.hooks is not None and not run.expired:
            hooked = Hooked(log=self.log, setup=setup)
            await self._working.within_time(run, lambda: hooked.react(run))

    async def _rest(self, run: RunState, setup: RunSetup) -> None:
        """Tell hooks what is waited for, then park; what came in meanwhile is looked at first."""
        await self._react(run, setup)
        if run.halted is not None or run.expired or self._working.news.is_set():
            return
        if self._attending.is_awaited(run):
            return
        waiting = tuple(
            ev.Waiting(id=call.pending_id or "", kind=call.pending_kind or "", call_id=call.call.id)
            for call in run.open_calls
            if call.waiting
        )
        await self.log.decide(ev.RunPaused(run_id=run.run_id, waiting=waiting))


def _can_go_on(run: RunState, setup: RunSetup) -> bool:
    free = run.held_calls or runnable(run.calls, setup.concurrency)
    return not run.open_calls or bool(free)
