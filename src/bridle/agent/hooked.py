"""Where a drain asks its hooks: about calls, about what was said, and about its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from bridle.agent.termination import NATURAL
from bridle.errors import HeadMoved
from bridle.gate.decide import terms_of
from bridle.journal.children import agent_type_of
from bridle.ports.hooks import Close, HookScope, Question
from bridle.types.base import Fixed
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from bridle.agent.setup import RunSetup
    from bridle.agent.termination import Stop
    from bridle.journal.calls import CallState
    from bridle.journal.recorder import ThreadLog
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.types.events import HookRan

MOST_KEPT_ON = 8
"""How often hooks may keep a run from ending by itself."""


class Hooked(Fixed, frozen=True, kw_only=True):
    """The hooks of one run, if it has any, and what is recorded of them."""

    log: ThreadLog
    setup: RunSetup

    async def react(self, run: RunState) -> None:
        """Tell hooks of what was recorded since."""
        if self.setup.hooks is None:
            return
        rans = await self.setup.hooks.reactions(self._scope(run))
        if rans:
            await self._result(rans)

    async def decide(self, run: RunState) -> None:
        """Ask about every call that is held, one after the other, and decide it."""
        for call in run.held_calls:
            if run.halted is not None:
                return
            await self._decide_one(run, call)

    async def close(self, run: RunState, stop: Stop) -> bool:
        """Tell that the run is about to end; False when a hook keeps it on, or halts it."""
        if self.setup.hooks is None or run.closed == run.steps:
            return True
        close = Close(
            reason=stop.reason,
            natural=stop.reason in NATURAL and run.kept_on < MOST_KEPT_ON,
            text=run.text,
            error=stop.error.message if stop.error is not None else None,
            again=run.kept_on > 0,
        )
        rans = await self.setup.hooks.closing(self._scope(run), close)
        if rans:
            await self._result(rans)
        return not any(ran.halt or ran.context for ran in rans)

    async def _decide_one(self, run: RunState, call: CallState) -> None:
        decider = self.setup.decider
        state = self.log.state
        question = Question(
            scope=self._scope(run),
            call=call.to_run,
            facts=call.facts,
            describe=decider.toolbox.describe,
            judge=lambda made, facts, verdict: decider.judge(
                made, facts, verdict, terms_of(state.grants, state.rules)
            ),
        )
        hooks = self.setup.hooks  # none where the harness was opened again without them
        rans = await hooks.gate(question) if hooks is not None else ()
        with anyio.CancelScope(shield=True):  # what a hook said is recorded, whatever cuts the rest
            while True:
                terms = terms_of(state.grants, state.rules)
                try:
                    await self.log.decide(*decider.held(run.run_id, call, rans, terms))
                except HeadMoved:
                    continue
                return

    async def _result(self, rans: tuple[HookRan, ...]) -> None:
        with anyio.CancelScope(shield=True):
            await self.log.result(*rans)

    def _scope(self, run: RunState) -> HookScope:
        return scope_of(self.log.state, run.run_id, mode=run.mode_id, model=run.model_id)


def scope_of(state: ThreadState, run_id: str | None, *, mode: str, model: str | None) -> HookScope:
    """Where something happens that hooks are told of."""
    thread = state.thread
    return HookScope(
        thread_id=state.id,
        run_id=run_id,
        depth=thread.depth if thread is not None else 0,
        mode=mode,
        model=model,
        agent_type=(agent_type_of(thread) or None) if thread is not None else None,
    )


def halt_failure(halt: HookRan) -> Failure:
    """Why a run that a hook halted has ended."""
    why = f": {halt.reason}" if halt.reason else ""
    return Failure(type="hook", message=f"The hook {halt.hook} ended the run{why}")
