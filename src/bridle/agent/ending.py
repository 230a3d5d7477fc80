"""The end of a run: its verdict, what is stopped with it, and what its parent is told."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bridle.agent.budget import spent, worst_case
from bridle.agent.termination import NATURAL, Stop, verdict
from bridle.errors import HeadMoved
from bridle.gate.run import interrupted
from bridle.journal.children import agent_type_of, interrupt
from bridle.journal.folding import seconds_between
from bridle.journal.recorder import Extra, ThreadLog
from bridle.ports.clock import Clock, iso
from bridle.ports.store import Append
from bridle.types import events as ev
from bridle.types.agents import SubagentMeta, facts_of
from bridle.types.base import Fixed
from bridle.types.ops import CHILD_HEAD, Settle
from bridle.types.tools import Done, Failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.journal.run_state import RunState
    from bridle.types.runs import Failure
    from bridle.types.threads import Thread


class Ending(Fixed, frozen=True, kw_only=True):
    """Ends runs of one thread."""

    log: ThreadLog
    clock: Clock

    async def end(
        self,
        run: RunState,
        stop: Stop,
        *,
        before: Iterable[ev.Event] = (),
        after: Iterable[ev.Event] = (),
        consumes: tuple[str, ...] = (),
    ) -> None:
        """Record the end, stop its children and settle the parent's call in the same commit.

        `after` is what the end was for: no other run begins in between. A request that a crash or
        a defect left open is settled too, so that no room stays taken.
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
            *after,
            extra=Extra(
                appends=(*child_interrupts(run), *told),
                spent=tuple(spent(event) for event in settled),
            ),
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
                )

    def _told_parent(self, run: RunState, ended: ev.RunEnded) -> tuple[Append, ...]:
        thread = self.log.state.thread
        if thread is None or thread.parent_thread is None or thread.parent_call is None:
            return ()
        duration = seconds_between(run.start.at, iso(self.clock.now()))
        took = int(duration * 1000)
        settle = Settle(
            call_id=thread.parent_call,
            outcome=outcome_of(run, ended),
            head=CHILD_HEAD,
            duration_ms=took,
            tool_calls=run.tool_calls,
            meta=_meta(thread, run, ended),
        )
        admitted = ev.InputAdmitted(input_id=f"{thread.parent_call}.settle", op=settle)
        return (Append(thread_id=thread.parent_thread, events=(admitted,)),)


def stopped_calls(run: RunState, why: str, *, kind: str = "interrupted") -> list[ev.Event]:
    """One result for every call that is still open; what was asked is declined."""
    events: list[ev.Event] = []
    for call in run.open_calls:
        if call.stage == "asked":
            events.append(
                ev.ApprovalAnswered(
                    run_id=run.run_id,
                    approval_id=call.pending_id or "",
                    call_id=call.call.id,
                    consumes=(),
                    approved=False,
                    reason=why,
                )
            )
        events.append(interrupted(run.run_id, call, why, kind=kind))
    return events


def child_interrupts(run: RunState) -> tuple[Append, ...]:
    """What ends the children that still work: they do not outlive the run that they work for."""
    return tuple(
        interrupt(child, input_id=f"{child.call_id}.interrupt") for child in run.open_children
    )


def _meta(thread: Thread, run: RunState, ended: ev.RunEnded) -> SubagentMeta:
    facts = facts_of(thread)
    return SubagentMeta(
        agent_type=agent_type_of(thread),
        reason=ended.reason,
        model=run.model_id,
        forked=facts is not None and facts.forked,
        steps=run.steps,
        tool_calls=run.tool_calls,
        input_tokens=run.usage.input_tokens,
        output_tokens=run.usage.output_tokens,
        cached_tokens=run.usage.cached_tokens,
        cost_usd=run.cost_usd or None,
    )


def outcome_of(run: RunState, ended: ev.RunEnded) -> Done | Failed:
    """What a parent learns of a child: a failure is a failure."""
    text = run.text
    if not text and ended.reason == "tool_use":  # it was stopped by what its calls found
        text = "\n".join(call.result.result for call in run.calls if call.result is not None)
    if ended.reason in NATURAL and ended.verdict != "failed":
        return Done(text or "(no answer)")
    why = ended.error.message if ended.error is not None else ended.reason
    partial = f"\n\nIts last words:\n{text}" if text else ""
    return Failed(f"The subagent did not succeed: {why}.{partial}", kind=ended.reason)
