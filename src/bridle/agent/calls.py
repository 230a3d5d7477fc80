"""Settle the open calls of a step: run what may run, together where that is safe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from bridle.agent.directory import agents_of
from bridle.agent.hooked import scope_of
from bridle.agent.look import Look
from bridle.gate.batch import runnable
from bridle.gate.decide import failure
from bridle.gate.run import ambiguous
from bridle.journal.children import beginning, started
from bridle.journal.recorder import Extra, ThreadLog
from bridle.ports.tools import CallScope, Settled, Standing, Suspended
from bridle.types import events as ev
from bridle.types.agents import facts_of
from bridle.types.base import Moving
from bridle.types.tools import AGENT_KINDS

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from bridle.agent.setup import RunSetup
    from bridle.journal.calls import CallState
    from bridle.journal.run_state import RunState
    from bridle.ports.hooks import HookPort

Attend = Callable[[], Awaitable[None]]
"""Deals with the ops that came in meanwhile."""


class Calls(Moving, kw_only=True):
    """Runs the open calls of one step until nothing more can run.

    `suspects` are calls that an earlier drain may have started: those that must not be repeated
    are settled as ambiguous, the others are run again.
    """

    log: ThreadLog
    setup: RunSetup
    values: dict[str, Any]
    attend: Attend
    news: Callable[[], anyio.Event]
    suspects: set[str]
    now: Callable[[], float]
    _running: set[str] = msgspec.field(default_factory=set)

    async def settle(self, run: RunState) -> None:
        """Run what may run; returns when all calls are settled or wait for somebody else."""
        await self._settle_suspects(run)
        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    await self.attend()
                    ready = runnable(run.calls, self.setup.concurrency)
                    if not ready and not self._running:
                        return
                    self._start(run, ready, tasks)
                    await self.news().wait()
        except BaseExceptionGroup as group:
            raise first_error(group) from group

    def _start(self, run: RunState, ready: list[CallState], tasks: TaskGroup) -> None:
        for call in ready:
            if call.call.id not in self._running:
                self._running.add(call.call.id)
                tasks.start_soon(self._run_one, run, call, name=f"call {call.call.id}")

    async def _settle_suspects(self, run: RunState) -> None:
        unknown = [
            ambiguous(run.run_id, call)
            for call in runnable(run.calls, self.setup.concurrency)
            if call.call.id in self.suspects and call.facts.effect == "once"
        ]
        if unknown:
            told = [
                ev.Noted(
                    run_id=run.run_id,
                    code="ambiguous_call",
                    text=f"The outcome of {end.tool} ({end.call_id}) is unknown after a crash.",
                )
                for end in unknown
            ]
            await self.log.decide(*unknown, *told)

    async def _run_one(self, run: RunState, call: CallState) -> None:
        scope = self._scope(run, call)
        outcome = await self.setup.runner.run(call, scope)
        if self.setup.hooks is not None and not isinstance(outcome, Suspended):
            outcome = await self._shown(run, call, outcome, self.setup.hooks)
        with anyio.CancelScope(shield=True):  # what was done is recorded, whatever cuts the rest
            if not isinstance(outcome, Suspended):
                await self._record(outcome)
            elif outcome.kind not in AGENT_KINDS and not self.setup.policy.answerable:
                text = "Nobody can answer here. Decide for yourself, or stop and say what you need."
                await self.log.result(failure(run.run_id, call.call, text, kind="unanswerable"))
            else:
                events, extra = suspension(run, call, self._with_next_mode(outcome))
                await self.log.result(*events, extra=extra)
        self._running.discard(call.call.id)
        self.news().set()

    def _with_next_mode(self, outcome: Suspended) -> Suspended:
        """A plan says where it goes on, so that whoever approves it need not know the harness."""
        then = self.setup.after_plan
        if outcome.kind != "plan" or then is None:
            return outcome
        payload = {**outcome.payload, "mode_id": then[0], "model_id": then[1]}
        return msgspec.structs.replace(outcome, payload=payload)

    async def _shown(
        self, run: RunState, call: CallState, settled: Settled, hooks: HookPort
    ) -> Settled:
        """The result of a call as hooks leave it; one that is cut short is recorded as it came."""
        scope = scope_of(self.log.state, run.run_id, mode=run.mode_id, model=run.model_id)
        try:
            events = await hooks.returned(scope, call.to_run, call.facts, settled.events)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._record(settled)
            raise
        return msgspec.structs.replace(settled, events=events)

    async def _record(self, settled: Settled) -> None:
        await self.log.result(*settled.events, extra=Extra(appends=settled.appends))

    def _scope(self, run: RunState, call: CallState) -> CallScope:
        thread_id = self.log.state.id
        thread = self.log.state.thread
        live = self.log.journal.live

        def progress(text: str) -> None:
            live(
                ev.ToolProgress(
                    thread_id=thread_id, run_id=run.run_id, call_id=call.call.id, text=text
                )
            )

        def output(stream: str, text: str) -> None:
            live(
                ev.ShellOutput(
                    thread_id=thread_id,
                    run_id=run.run_id,
                    call_id=call.call.id,
                    stream=stream,
                    text=text,
                )
            )

        return CallScope(
            thread_id=thread_id,
            run_id=run.run_id,
            call_id=call.call.id,
            depth=run.start.depth,
            resource_id=thread.resource_id if thread is not None else "",
            harness_id=thread.harness_id if thread is not None else None,
            workspace=thread.workspace if thread is not None else None,
            repeated=call.call.id in self.suspects,
            resumed=call.resumed,
            tasks=self.log.state.tasks,
            plan=self.log.state.plan,
            subagent_models=self.log.state.subagent_models,
            values=self.values,
            standing=self._standing(run, call),
            progress=progress,
            output=output,
            owner=self.log.lease.owner.key,
            started_at=call.started_at,
            look=Look(log=self.log, setup=self.setup),
        )

    def _standing(self, run: RunState, call: CallState) -> Standing | None:
        """Who makes the call, for the tools that start agents and speak to them."""
        state = self.log.state
        thread = state.thread
        if thread is None:
            return None
        store = self.log.journal.store
        return Standing(
            mode_id=run.mode_id,
            model_id=run.model_id,
            head=run.head,
            history=self.setup.head.history,
            messages=state.messages,
            limits=run.start.limits,
            facts=facts_of(thread),
            waiting=sum(one.child is not None for one in run.open_calls if one is not call),
            helpers=run.helpers,
            now=self.now(),
            agents=lambda: agents_of(store, thread),
        )


def suspension(run: RunState, call: CallState, outcome: Suspended) -> tuple[list[ev.Event], Extra]:
    """What is recorded when a call waits; a child begins in the same commit."""
    events: list[ev.Event] = [
        ev.CallSuspended(
            run_id=run.run_id,
            call_id=call.call.id,
            tool=call.call.tool,
            pending_id=outcome.id,
            kind=outcome.kind,
            payload=outcome.payload,
        )
    ]
    if outcome.kind == "question":
        events.append(_question(run, call, outcome))
    elif outcome.kind == "plan":
        events.append(
            ev.PlanSubmitted(
                run_id=run.run_id,
                plan_id=outcome.id,
                call_id=call.call.id,
                title=str(outcome.payload["title"]),
                plan=str(outcome.payload["plan"]),
            )
        )
    child = outcome.child
    if child is None:
        return events, Extra()
    task = str(outcome.payload.get("task", ""))
    events.append(started(child, call_id=call.call.id, run_id=run.run_id, task=task))
    return events, Extra(appends=(beginning(child, input_id=f"{call.call.id}.send"),))


def _question(run: RunState, call: CallState, outcome: Suspended) -> ev.QuestionAsked:
    payload = outcome.payload
    return ev.QuestionAsked(
        run_id=run.run_id,
        question_id=outcome.id,
        call_id=call.call.id,
        question=str(payload["question"]),
        options=msgspec.convert(payload.get("options", ()), tuple[ev.QuestionOption, ...]),
        selection_mode=payload.get("selection_mode"),
    )


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first thing that went wrong in a group of tasks; the others were stopped by it."""
    inner = group.exceptions[0]
    return first_error(inner) if isinstance(inner, BaseExceptionGroup) else inner
