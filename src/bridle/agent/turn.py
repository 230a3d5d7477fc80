"""The loop of a drain: what the log left open first, then the next step, until there is no more.

Every record is decided on the state up to the last event. When somebody appends in between, the
decision is refused and made again, so the whole drain is a function of the log and its inputs.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

import anyio

from bridle.agent import steering
from bridle.agent.calls import Calls
from bridle.agent.ending import Ending
from bridle.agent.setup import Prepare, RunSetup, Wanted, names
from bridle.agent.step import NextDelay, Step
from bridle.agent.termination import NATURAL, Stop, stop_reason
from bridle.errors import BridleError, HeadMoved, UserError
from bridle.gate.batch import Concurrency, runnable
from bridle.journal.recorder import Extra, ThreadLog
from bridle.ports.clock import Clock, from_iso
from bridle.types import events as ev
from bridle.types.content import plain_text
from bridle.types.ids import derive_id
from bridle.types.ledger import Account
from bridle.types.ops import Approve, Decline, Interrupt, Op, Send, Settle, Steer
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bridle.journal.state import RunState
    from bridle.types.messages import StopReason

TASK_LENGTH = 200
log = logging.getLogger("bridle.turn")


@dataclass(slots=True, kw_only=True)
class Turn:
    """One drain of one thread, under a lease that somebody else keeps alive."""

    log: ThreadLog
    prepare: Prepare
    clock: Clock
    next_delay: NextDelay
    stopping: Callable[[], bool]
    _setup: RunSetup | None = None
    _suspects: set[str] = field(default_factory=set)
    _news: anyio.Event = field(default_factory=anyio.Event)
    _work: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _deadline: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def drain(self) -> None:
        """Do everything that can be done now."""
        unsubscribe = self.log.journal.bus.subscribe(self._hear, thread_id=self.log.state.id)
        try:
            while not self.stopping():
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

    async def _advance(self) -> bool:
        """Take one decision; False when nothing can go on."""
        if self._news.is_set():
            await self._refresh()
        run = self.log.state.run
        if run is None:
            return await self._begin()
        setup = await self._set_up(run)
        if setup is None:
            return True
        await self._attend(run, setup)
        if self.log.state.run is not run:
            return True
        if run.paused:
            if not self._can_go_on(run, setup):
                return False
            await self.log.decide(ev.RunResumed(run_id=run.run_id))
        if run.request is not None:
            await self._step(setup).settle_orphan(run)
            return True
        if run.open_calls and not run.expired:
            await self._within_time(run, lambda: self._settle_calls(run, setup))
            if not self._can_go_on(run, setup):
                await self._park(run)
            return True
        stop = stop_reason(self.log.state, run)
        if stop is not None:
            await self._end(run, setup, stop)
            return True
        if await self._hear_steers(run):
            return True
        await self._within_time(run, lambda: self._step(setup).take(run))
        return True

    # --- beginning -------------------------------------------------------------------------

    async def _begin(self) -> bool:
        """Start the run that waits longest; deal with ops that have no run to act on."""
        for input_id, op in list(self.log.state.inputs.items()):
            if isinstance(op, Send):
                await self._start(op, input_id)
                return True
            if isinstance(op, Steer):
                run_id = derive_id("run", input_id)
                await self._start(Send(run_id=run_id, parts=op.parts, context=op.context), input_id)
                return True
            text = f"There is no run for this {op.__struct_config__.tag}."
            await self.log.decide(steering.noted(None, input_id, "no_run", text))
            return True
        return False

    async def _start(self, op: Send, input_id: str) -> None:
        thread = self.log.state.thread
        parent_run = thread.parent_run if thread is not None else None
        try:
            setup = await self.prepare(self.log.state, Wanted(send=op))
        except UserError as error:
            await self._refuse(op, input_id, str(error))
            return
        except BridleError:
            raise
        except Exception as error:
            log.warning("Run %s cannot be set up", op.run_id, exc_info=True)
            await self._refuse(op, input_id, f"{type(error).__name__}: {error}")
            return
        head, policy = names(setup)
        limits = setup.limits if op.limits is None else setup.limits.within(op.limits)
        started = ev.RunStarted(
            run_id=op.run_id,
            consumes=(input_id,),
            model_id=setup.model_id,
            fallbacks=setup.fallbacks,
            mode_id=setup.mode_id,
            task=plain_text(op.parts)[:TASK_LENGTH],
            head=head,
            policy=policy,
            limits=limits,
            parallel=(setup.concurrency.max, setup.concurrency.per_category),
            price=setup.model.price,
            account=op.run_id,
            depth=thread.depth if thread is not None else 0,
            parent_run_id=parent_run,
            context=op.context,
        )
        account = Account(
            id=op.run_id,
            parent_id=parent_run,
            max_usd=limits.max_usd,
            max_tokens=limits.max_tokens,
        )
        await self.log.decide(
            started,
            *steering.opening(op),
            extra=Extra(blobs=(setup.head_blob, setup.policy_blob), accounts=(account,)),
        )
        self._setup = setup

    async def _refuse(self, op: Send, input_id: str, why: str) -> None:
        """A run that cannot be set up still has a beginning, a reason and an end."""
        failure = Failure(type="configuration", message=why)
        started = ev.RunStarted(
            run_id=op.run_id,
            consumes=(input_id,),
            model_id=op.model,
            task=plain_text(op.parts)[:TASK_LENGTH],
            account=op.run_id,
        )
        await self.log.decide(
            started,
            *steering.opening(op),
            ev.ErrorRaised(run_id=op.run_id, error=failure),
        )

    async def _set_up(self, run: RunState) -> RunSetup | None:
        """The setup of the open run, rebuilt when this drain did not start it.

        Calls that are free to run at this moment may have been started by an earlier drain.
        """
        if self._setup is not None and self._setup.model_id == run.model_id:
            return self._setup
        fell_back = self._setup is not None
        if run.error is not None and not run.start.head:
            await self._ending().end(run, Stop("error", run.error.error))
            return None
        try:
            setup = await self.prepare(
                self.log.state, Wanted(started=run.start, model=run.model_id)
            )
        except UserError as error:
            failure = Failure(type="configuration", message=str(error))
            await self._ending().end(
                run,
                Stop("error", failure),
                before=steering.stopped_calls(run, "the run cannot be set up again", kind="error"),
                extra=steering.child_interrupts(run),
            )
            return None
        most, of_category = run.start.parallel
        bounds = Concurrency(max=most, per_category=of_category)
        self._setup = replace(setup, concurrency=bounds)
        if not fell_back:
            ready = runnable(run.calls, self._setup.concurrency)
            self._suspects = {call.call.id for call in ready}
        return self._setup

    # --- what comes in ---------------------------------------------------------------------

    async def _attend(self, run: RunState, setup: RunSetup) -> None:
        """Deal with answers, results and interrupts, in the order of their admission."""
        for input_id, op in list(self.log.state.inputs.items()):
            if self.log.state.run is not run:
                return
            await self._attend_one(run, setup, input_id, op)

    async def _attend_one(self, run: RunState, setup: RunSetup, input_id: str, op: Op) -> None:
        match op:
            case Interrupt():
                await self._interrupt(run, op, input_id)
            case Approve() | Decline():
                owner = str(self.log.lease.owner)
                state = self.log.state
                answer = steering.answered(state, run, op, input_id, setup, owner)
                await self.log.decide(*answer, *steering.resumed(run, answer, setup.concurrency))
            case Settle():
                result = steering.settled(run, op, input_id)
                await self.log.decide(*result, *steering.resumed(run, result, setup.concurrency))
            case Send() | Steer():
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
            extra=steering.child_interrupts(run),
        )
        self._setup = None

    async def _hear_steers(self, run: RunState) -> bool:
        events: list[ev.Event] = []
        for input_id, op in self.log.state.inputs.items():
            if isinstance(op, Steer):
                events.extend(steering.steered(run, op, input_id))
        if events:
            await self.log.decide(*events)
        return bool(events)

    async def _refresh(self) -> None:
        self._news = anyio.Event()
        await self.log.refresh()

    def _hear(self, event: ev.AnyEvent) -> None:
        """An interrupt of this run cuts what is under way; any other news wakes the calls."""
        if not isinstance(event, ev.InputAdmitted):
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
            values=run.start.context,
            attend=lambda: self._attend_quietly(run, setup),
            news=lambda: self._news,
            suspects=self._suspects,
        )
        await calls.settle(run)

    async def _attend_quietly(self, run: RunState, setup: RunSetup) -> None:
        """Between running calls: fold in the news, deal with answers, leave the end to the loop."""
        await self._refresh()
        for input_id, op in list(self.log.state.inputs.items()):
            if isinstance(op, (Approve, Decline, Settle)):
                try:
                    await self._attend_one(run, setup, input_id, op)
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

    def _cut_reason(self) -> StopReason:
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
        return not run.open_calls or bool(runnable(run.calls, setup.concurrency))

    async def _park(self, run: RunState) -> None:
        if any(not isinstance(op, Send | Steer) for op in self.log.state.inputs.values()):
            return  # an answer or an interrupt came in meanwhile
        waiting = tuple(
            ev.Waiting(id=call.pending_id or "", kind=call.pending_kind or "", call_id=call.call.id)
            for call in run.open_calls
            if call.waiting
        )
        await self.log.decide(ev.RunPaused(run_id=run.run_id, waiting=waiting))

    async def _end(self, run: RunState, setup: RunSetup, stop: Stop) -> None:
        if stop.reason in NATURAL:
            await self._ending().check(run, setup)
        await self._ending().end(run, stop)
        self._setup = None

    def _ending(self) -> Ending:
        return Ending(log=self.log, clock=self.clock)
