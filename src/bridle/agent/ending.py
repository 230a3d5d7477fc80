"""The end of a run: its checks, its verdict, and what its parent is told."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bridle.agent.budget import spent, worst_case
from bridle.agent.steering import child_interrupts, stopped_calls
from bridle.agent.termination import NATURAL, Stop, verdict
from bridle.errors import HeadMoved
from bridle.journal.recorder import Extra, ThreadLog
from bridle.journal.state import RunState, seconds_between
from bridle.ports.clock import Clock, iso
from bridle.ports.store import Append
from bridle.types import events as ev
from bridle.types.base import Fixed
from bridle.types.ops import CHILD_HEAD, Settle
from bridle.types.tools import Done, Failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.agent.setup import RunSetup
    from bridle.types.runs import Failure


class Ending(Fixed, frozen=True, kw_only=True):
    """Ends runs of one thread."""

    log: ThreadLog
    clock: Clock

    async def check(self, run: RunState, setup: RunSetup) -> None:
        """Run the checks that have no result yet; a crash in between repeats only the open one."""
        if setup.checks is None:
            return
        for check in await setup.checks.plan(run.run_id):
            if check.name not in run.checks:
                await self.log.result(check)
                await self.log.result(await setup.checks.run(check, run.text))

    async def end(
        self,
        run: RunState,
        stop: Stop,
        *,
        before: Iterable[ev.Event] = (),
        consumes: tuple[str, ...] = (),
        extra: tuple[Append, ...] = (),
    ) -> None:
        """Record the end, and settle the parent's call in the same commit.

        A request that a crash or a defect left open is settled too, so that no room stays taken.
        """
        ended = ev.RunEnded(
            run_id=run.run_id,
            reason=stop.reason,
            verdict=verdict(run, stop.reason),
            usage=run.usage,
            cost_usd=run.cost_usd,
            error=stop.error,
            consumes=consumes,
        )
        told = self._told_parent(run, ended)
        orphan = worst_case(run)
        settled = (orphan,) if orphan is not None else ()
        await self.log.decide(
            *before,
            *settled,
            ended,
            extra=Extra(appends=(*extra, *told), spent=tuple(spent(event) for event in settled)),
        )

    async def abandon(self) -> None:
        """The drain itself is cancelled: settle what is open and end the run, once.

        A run that is parked waits for somebody, not for this drain: it stays parked.
        """
        while (run := self.log.state.run) is not None and not run.paused:
            with contextlib.suppress(HeadMoved):
                await self.end(
                    run,
                    Stop("user_interrupt"),
                    before=stopped_calls(run, "the run was cancelled", kind="cancelled"),
                    extra=child_interrupts(run),
                )

    async def fail(self, failure: Failure) -> None:
        """A defect of ours ends the open run, so that whoever waits for it is told."""
        while (run := self.log.state.run) is not None:
            with contextlib.suppress(HeadMoved):
                await self.end(
                    run,
                    Stop("error", failure),
                    before=(
                        ev.ErrorRaised(run_id=run.run_id, error=failure),
                        *stopped_calls(run, "the run failed", kind="error"),
                    ),
                    extra=child_interrupts(run),
                )

    def _told_parent(self, run: RunState, ended: ev.RunEnded) -> tuple[Append, ...]:
        thread = self.log.state.thread
        if thread is None or thread.parent_thread is None or thread.parent_call is None:
            return ()
        duration = seconds_between(run.start.at, iso(self.clock.now()))
        settle = Settle(
            call_id=thread.parent_call,
            outcome=outcome_of(run, ended),
            head=CHILD_HEAD,
            duration_ms=int(duration * 1000),
            tool_calls=run.tool_calls,
        )
        admitted = ev.InputAdmitted(input_id=f"{thread.parent_call}.settle", op=settle)
        return (Append(thread_id=thread.parent_thread, events=(admitted,)),)


def outcome_of(run: RunState, ended: ev.RunEnded) -> Done | Failed:
    """What a parent learns of a child: a failure is a failure."""
    text = run.last.text if run.last is not None else ""
    if ended.reason in NATURAL and ended.verdict != "failed":
        return Done(text or "(no answer)")
    why = ended.error.message if ended.error is not None else ended.reason
    partial = f"\n\nIts last words:\n{text}" if text else ""
    return Failed(f"The subagent did not succeed: {why}.{partial}", kind=ended.reason)
