"""What comes in while a run is open: answers, interrupts, switches, and what is said to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from bridle.agent import steering
from bridle.agent.ending import stopped_calls
from bridle.agent.termination import Stop
from bridle.errors import HeadMoved
from bridle.journal.waits import ended_waits
from bridle.types.base import Fixed
from bridle.types.ops import (
    Answer,
    Answering,
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
    from bridle.agent.ending import Ending
    from bridle.agent.setup import RunSetup
    from bridle.agent.starting import Starting
    from bridle.agent.working import Working
    from bridle.journal.recorder import ThreadLog
    from bridle.journal.run_state import RunState
    from bridle.types import events as ev

_LEFT = Send | Steer | Pin | Deliver
"""What a run that cannot go on leaves in the inbox."""


class Attending(Fixed, frozen=True, kw_only=True):
    """Deals with the inputs of a thread that has a run, in the order of their admission."""

    log: ThreadLog
    starting: Starting
    ending: Ending
    working: Working

    async def attend(self, run: RunState, setup: RunSetup) -> None:
        """Deal with all that needs no request to be heard; the run may have ended by then."""
        for input_id, op in list(self.log.state.inputs.items()):
            if self.log.state.run is not run:
                return
            await self._attend_one(run, setup, input_id, op)
        if self.log.state.run is run:
            await self._end_waits(run, setup)

    async def attend_quietly(self, run: RunState, setup: RunSetup) -> None:
        """Between running calls: fold in the news, deal with answers, leave the end to the loop."""
        await self.working.refresh()
        try:
            for input_id, op in list(self.log.state.inputs.items()):
                if isinstance(op, Answering):
                    await self._answer(run, setup, input_id, op)
            await self._end_waits(run, setup)
        except HeadMoved:  # look again, from the first: inputs act in their order
            self.working.news.set()

    async def listen(self, run: RunState, setup: RunSetup) -> bool:
        """Record what the next request is to hear; whether there was anything."""
        events: list[ev.Event] = []
        for input_id, op in list(self.log.state.inputs.items()):
            if isinstance(op, Pin):
                events.extend(steering.steered(run, op, input_id))
            elif isinstance(op, Steer):
                rans = await self.starting.heard(run.run_id, op, input_id, setup)
                events.extend(steering.steered(run, op, input_id, rans))
            elif isinstance(op, Deliver):
                events.extend(steering.mailed(run.run_id, op.mail, input_id))
        if events:
            await self.log.decide(*events)
        return bool(events)

    def is_awaited(self, run: RunState) -> bool:
        """Whether something is there that a run which waits must look at first."""
        state = self.log.state
        waits_on = all(isinstance(op, _LEFT) for op in state.inputs.values())
        return not waits_on or bool(ended_waits(run, state.mail))

    async def _attend_one(self, run: RunState, setup: RunSetup, input_id: str, op: Op) -> None:
        match op:
            case Interrupt():
                await self._interrupt(run, op, input_id)
            case (
                Approve() | Decline() | Answer() | AnswerPlan() | ResumeTool() | Settle() | Expire()
            ):
                await self._answer(run, setup, input_id, op)
            case SwitchMode():  # the run ends first; those behind it are of the other mode
                before = stopped_calls(run, "the mode changes")
                await self.ending.end(
                    run,
                    Stop("user_interrupt"),
                    before=before,
                    after=steering.switched_mode(self.log.state, op),
                    consumes=(input_id,),
                )
            case SwitchModel():
                await self.log.decide(steering.switched_model(op, input_id))
            case Grant():
                await self.log.decide(steering.grant_given(op, input_id, self.log.lease.owner.key))
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
        await self.ending.end(
            run,
            Stop("user_interrupt"),
            before=stopped_calls(run, "the user ended the run"),
            consumes=(input_id, *dropped),
        )

    async def _answer(self, run: RunState, setup: RunSetup, input_id: str, op: Answering) -> None:
        from bridle.agent.replies import Reply  # most runs wait for nobody

        reply = Reply(
            state=self.log.state,
            run=run,
            decider=setup.decider,
            owner=self.log.lease.owner.key,
            input_id=input_id,
        )
        await self._settle(run, setup, reply.events(op))

    async def _end_waits(self, run: RunState, setup: RunSetup) -> None:
        """Settle the calls that wait for agents which ended, or spoke, before the call was due."""
        ended = ended_waits(run, self.log.state.mail)
        if ended:
            await self._settle(run, setup, ended)

    async def _settle(self, run: RunState, setup: RunSetup, events: list[ev.Event]) -> None:
        """What settles a call and the going on that it allows are one commit."""
        from bridle.agent.replies import resumed

        await self.log.decide(*events, *resumed(run, events, setup.concurrency))
