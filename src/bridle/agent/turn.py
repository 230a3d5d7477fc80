"""The loop of a drain: what the log left open first, then the next step, until there is no more.

Every record is decided on the state up to the last event. When somebody appends in between, the
decision is refused and made again, so the whole drain is a function of the log and its inputs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, assert_never

import anyio
import msgspec

from bridle.agent import steering
from bridle.agent.again import another_round, reformed
from bridle.agent.calls import Calls
from bridle.agent.ending import Ending
from bridle.agent.hooked import Hooked, halt_failure
from bridle.agent.starting import Starting
from bridle.agent.step import NextDelay, Step
from bridle.agent.termination import NATURAL, Stop, stop_reason
from bridle.errors import HeadMoved
from bridle.gate.batch import runnable
from bridle.journal.recorder import Extra, ThreadLog
from bridle.journal.waits import ended_waits
from bridle.ports.clock import Clock, from_iso
from bridle.types import events as ev
from bridle.types.base import Moving
from bridle.types.ops import (
    Answer,
    AnswerPlan,
    Approve,
    Decline,
    Deliver,
    Expire,
    Grant,
    Interrupt,
    Op,
    Pin,
    ResumeTool,
    Send,
    Settle,
    Steer,
    SwitchMode,
    SwitchModel,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bridle.agent.setup import Prepare, RunSetup
    from bridle.journal.run_state import RunState
    from bridle.types.messages import StopReason


_ANSWERS = Approve | Decline | Answer | AnswerPlan | ResumeTool | Settle | Expire
"""What is dealt with while other calls are running."""

_LEFT = Send | Steer | Pin | Deliver
"""What a run that cannot go on leaves in the inbox."""


class Turn(Moving, kw_only=True):
    """One drain of one thread, under a lease that somebody else keeps alive."""

    log: ThreadLog
    prepare: Prepare
    clock: Clock
    next_delay: NextDelay
    _starting: Starting | None = None
    _pausing: bool = False
    _asking: bool = False
    _news: anyio.Event = msgspec.field(default_factory=anyio.Event)
    _work: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)
    _deadline: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)

    async def drain(self) -> None:
        """Do everything that can be done now."""
        unsubscribe = self.log.journal.bus.subscribe(self._hear, thread_id=self.log.state.id)
        try:
            while not self._pausing:
                try:
                    if not await self._advance():
                        return
                except HeadMoved:
                    continue
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._ending().abandon()
            raise
        finally:
            unsubscribe()

    def pause(self) -> None:
        """Rest at the next safe boundary: a request is given up, running calls are waited for."""
        self._pausing = True
        if self._asking:
            self._work.cancel()

    async def _advance(self) -> bool:
        """Take one decision; False when nothing can go on."""
        if self._news.is_set():
            await self._refresh()
        run = self.log.state.run
        if run is None:
            return await self._runs().begin()
        setup = await self._runs().set_up(run)
        if setup is None:
            return True
        await self._attend(run, setup)
        if self.log.state.run is not run or not setup.is_of(run.model_id, run.mode_id):
            return True
        if not run.paused:
            await self._react(run, setup)
        if run.halted is not None:
            await self._halt(run, run.halted)
            return True
        if run.paused:
            if not self._can_go_on(run, setup):
                return False
            await self.log.decide(ev.RunResumed(run_id=run.run_id))
        await self._go_on(run, setup)
        return True

    async def _go_on(self, run: RunState, setup: RunSetup) -> None:
        """Do what comes next in a run: what the log left open first, then another step."""
        if run.request is not None:
            await self._step(setup).settle_orphan(run)
            return
        if run.held_calls and not run.expired:
            await self._within_time(run, lambda: self._hooked(setup).decide(run))
            return
        if run.open_calls and not run.expired:
            await self._within_time(run, lambda: self._settle_calls(run, setup))
            if not self._can_go_on(run, setup):
                await self._rest(run, setup)
            return
        stop = stop_reason(self.log.state, run)
        if stop is not None:
            await self._end(run, setup, stop)
            return
        if await self._has_enough(run, setup) or await self._hear_steers(run, setup):
            return
        self._asking = True
        try:
            await self._within_time(run, lambda: self._step(setup).take(run))
        finally:
            self._asking = False

    # --- what comes in ---------------------------------------------------------------------

    async def _attend(self, run: RunState, setup: RunSetup) -> None:
        """Deal with answers, results and interrupts, in the order of their admission."""
        for input_id, op in list(self.log.state.inputs.items()):
            if self.log.state.run is not run:
                return
            await self._attend_one(run, setup, input_id, op)
        if self.log.state.run is run:
            await self._end_waits(run, setup)

    async def _end_waits(self, run: RunState, setup: RunSetup) -> None:
        """Settle the calls that wait for agents which ended, or spoke, before the call was due."""
        ended = ended_waits(run, self.log.state.mail)
        if ended:
            await self.log.decide(*ended, *steering.resumed(run, ended, setup.concurrency))

    async def _attend_one(self, run: RunState, setup: RunSetup, input_id: str, op: Op) -> None:
        match op:
            case Interrupt():
                await self._interrupt(run, op, input_id)
            case Approve() | Decline():
                owner = self.log.lease.owner.key
                state = self.log.state
                answer = steering.answered(state, run, op, input_id, setup, owner)
                await self.log.decide(*answer, *steering.resumed(run, answer, setup.concurrency))
            case Settle():
                result = steering.settled(self.log.state, run, op, input_id)
                await self.log.decide(*result, *steering.resumed(run, result, setup.concurrency))
            case Answer() | AnswerPlan() | ResumeTool():
                previous = self.log.state.mode_id or run.mode_id
                reply = steering.replied(run, op, input_id, previous)
                await self.log.decide(*reply, *steering.resumed(run, reply, setup.concurrency))
            case SwitchMode():
                await self._end_for_mode(run)
            case SwitchModel():
                await self.log.decide(steering.switched_model(op, input_id))
            case Grant():
                await self.log.decide(steering.grant_given(op, input_id, self.log.lease.owner.key))
            case Expire():
                late = steering.expired(self.log.state, run, op, input_id)
                await self.log.decide(*late, *steering.resumed(run, late, setup.concurrency))
            case Send() | Steer() | Pin() | Deliver():
                return
            case other:
                assert_never(other)

    async def _interrupt(self, run: RunState, op: Interrupt, input_id: str) -> None:
        if op.run_id != run.run_id:
            text = f"Run {op.run_id} is over already."
            await self.log.decide(steering.noted(run.run_id, input_id, "late_interrupt", text))
            return
        dropped = tuple(
            name
            for name, waiting in self.log.state.inputs.items()
            if op.clear and isinstance(waiting, Send) and waiting.follow_up
        )
        await self._ending().end(
            run,
            Stop("user_interrupt"),
            before=steering.stopped_calls(run, "the user ended the run"),
            consumes=(input_id, *dropped),
        )
        self._runs().setup = None

    async def _end_for_mode(self, run: RunState) -> None:
        """A run ends before the thread changes its mode; the switch follows when it is idle."""
        await self._ending().end(
            run,
            Stop("user_interrupt"),
            before=steering.stopped_calls(run, "the mode changes"),
        )
        self._runs().setup = None

    async def _hear_steers(self, run: RunState, setup: RunSetup) -> bool:
        events: list[ev.Event] = []
        for input_id, op in list(self.log.state.inputs.items()):
            if isinstance(op, Pin):
                events.extend(steering.steered(run, op, input_id))
            if isinstance(op, Steer):
                rans = await self._runs().heard(run.run_id, op, input_id, setup)
                events.extend(steering.steered(run, op, input_id, rans))
            elif isinstance(op, Deliver):
                events.extend(steering.mailed(run.run_id, op.mail, input_id))
        if events:
            await self.log.decide(*events)
        return bool(events)

    async def _refresh(self) -> None:
        self._news = anyio.Event()
        if not self.log.is_current:  # what others commit unheard is found by the next record
            await self.log.refresh()

    def _hear(self, event: ev.AnyEvent) -> None:
        """An interrupt of this run cuts what is under way; any other news wakes the calls."""
        if not isinstance(event, ev.InputAdmitted):
            setup = self._starting.setup if self._starting is not None else None
            if setup is not None and setup.hooks is not None:
                setup.hooks.noticed(event)
            return
        run = self.log.state.run
        if isinstance(event.op, Interrupt) and run is not None and event.op.run_id == run.run_id:
            self._work.cancel()
        self._news.set()

    # --- work ------------------------------------------------------------------------------

    async def _settle_calls(self, run: RunState, setup: RunSetup) -> None:
        calls = Calls(
            log=self.log,
            setup=setup,
            values=dict(run.values),
            attend=lambda: self._attend_quietly(run, setup),
            news=lambda: self._news,
            suspects=self._runs().suspects,
            now=self.clock.now,
        )
        await calls.settle(run)

    async def _attend_quietly(self, run: RunState, setup: RunSetup) -> None:
        """Between running calls: fold in the news, deal with answers, leave the end to the loop."""
        await self._refresh()
        for input_id, op in list(self.log.state.inputs.items()):
            if isinstance(op, _ANSWERS):
                try:
                    await self._attend_one(run, setup, input_id, op)
                except HeadMoved:  # look again, from the first: inputs act in their order
                    self._news.set()
                    return
        try:
            await self._end_waits(run, setup)
        except HeadMoved:
            self._news.set()

    async def _within_time(self, run: RunState, work: Callable[[], Awaitable[None]]) -> None:
        """Work until an interrupt or the deadline cuts it; a run that is out of time expires."""
        if self._news.is_set():
            return  # look first: it may be an interrupt
        left = self._seconds_left(run)
        with anyio.CancelScope() as self._work, self.clock.deadline(left) as self._deadline:
            await work()
        if self._deadline.cancelled_caught:
            await self._expire(run)

    def _seconds_left(self, run: RunState) -> float:
        limit = run.start.limits.timeout
        if limit is None:
            return math.inf
        return from_iso(run.start.at) + run.parked_seconds + limit - self.clock.now()

    def _cut_reason(self) -> StopReason | None:
        if self._pausing:
            return None
        return "timeout" if self._deadline.cancel_called else "interrupted"

    async def _expire(self, run: RunState) -> None:
        limit = run.start.limits.timeout
        await self.log.result(
            *steering.stopped_calls(run, "the run is out of time", kind="timeout"),
            ev.Noted(
                run_id=run.run_id,
                code="timer_expired",
                text=f"The time limit of {limit:g} s passed.",
            ),
            extra=Extra(appends=steering.child_interrupts(run)),
        )

    async def _has_enough(self, run: RunState, setup: RunSetup) -> bool:
        """Record that the step which has just finished was the last one needed, if it was."""
        if setup.stop_when is None or run.last is None or not run.last.calls:
            return False
        if not setup.stop_when(run):
            return False
        text = f"stop_when ended the run after step {run.steps}."
        await self.log.decide(ev.Noted(run_id=run.run_id, code="stop_when", text=text))
        return True

    def _step(self, setup: RunSetup) -> Step:
        return Step(
            log=self.log,
            setup=setup,
            clock=self.clock,
            next_delay=self.next_delay,
            cut_reason=self._cut_reason,
        )

    # --- resting and ending ----------------------------------------------------------------

    def _can_go_on(self, run: RunState, setup: RunSetup) -> bool:
        free = run.held_calls or runnable(run.calls, setup.concurrency)
        return not run.open_calls or bool(free)

    async def _rest(self, run: RunState, setup: RunSetup) -> None:
        """Tell hooks what is waited for, then park; what came in meanwhile is looked at first."""
        await self._react(run, setup)
        if run.halted is None and not run.expired and not self._news.is_set():
            await self._park(run)

    async def _react(self, run: RunState, setup: RunSetup) -> None:
        """Tell hooks of what was recorded since."""
        if setup.hooks is not None and not run.expired:
            await self._within_time(run, lambda: self._hooked(setup).react(run))

    async def _park(self, run: RunState) -> None:
        if any(not isinstance(op, _LEFT) for op in self.log.state.inputs.values()):
            return  # an answer or an interrupt came in meanwhile
        if ended_waits(run, self.log.state.mail):
            return  # another agent ended or spoke meanwhile
        waiting = tuple(
            ev.Waiting(id=call.pending_id or "", kind=call.pending_kind or "", call_id=call.call.id)
            for call in run.open_calls
            if call.waiting
        )
        await self.log.decide(ev.RunPaused(run_id=run.run_id, waiting=waiting))

    async def _end(self, run: RunState, setup: RunSetup, stop: Stop) -> None:
        schema = setup.head.settings.output_schema
        if schema is not None and stop.reason == "end_turn":
            formed = reformed(run, schema)
            if isinstance(formed, tuple) and formed:
                await self.log.decide(*formed)
                return
            stop = formed if isinstance(formed, Stop) else stop
        natural = stop.reason in NATURAL
        if not await self._let_end(run, setup, stop, natural=natural):
            return
        if natural:
            if not await self._checked(run, setup):
                return
            again = another_round(run)
            if again:
                await self.log.decide(*again)
                return
        await self._ending().end(run, stop)
        self._runs().setup = None

    async def _checked(self, run: RunState, setup: RunSetup) -> bool:
        """Run the checks; False when they were cut: by an interrupt, a pause or the deadline.

        A check that was cut is open, as after a crash: it runs again where the run goes on.
        """
        done = False

        async def check() -> None:
            nonlocal done
            await self._ending().check(run, setup)
            done = True

        if setup.checks is None:
            return True
        self._asking = True
        try:
            await self._within_time(run, check)
        finally:
            self._asking = False
        return done

    async def _let_end(self, run: RunState, setup: RunSetup, stop: Stop, *, natural: bool) -> bool:
        """Whether hooks let the run end; an interrupt does not wait for them."""
        ends = False

        async def close() -> None:
            nonlocal ends
            ends = await self._hooked(setup).close(run, stop, natural=natural)

        if setup.hooks is None:
            return True
        if run.expired:
            await close()
        else:
            await self._within_time(run, close)
        return ends

    async def _halt(self, run: RunState, halt: ev.HookRan) -> None:
        """A hook ended the run: nothing of it goes on."""
        await self._ending().end(
            run,
            Stop("safety_violation", halt_failure(halt)),
            before=steering.stopped_calls(run, "a hook ended the run", kind="halted"),
        )
        self._runs().setup = None

    def _hooked(self, setup: RunSetup) -> Hooked:
        return Hooked(log=self.log, setup=setup)

    def _runs(self) -> Starting:
        if self._starting is None:
            self._starting = Starting(log=self.log, prepare=self.prepare, ending=self._ending())
        return self._starting

    def _ending(self) -> Ending:
        return Ending(log=self.log, clock=self.clock)
