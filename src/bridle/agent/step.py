"""One step: reserve, ask the model, record its answer and what is decided about its calls.

Two commits: the reservation with the start of the request, then the answer with everything that
follows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.agent.budget import settlement, spent, worst_case
from bridle.agent.calls import first_error
from bridle.agent.request import CHARACTERS_PER_TOKEN, NextRequest
from bridle.agent.stream import Draft
from bridle.errors import BudgetBlocked, HeadMoved, ModelError, RequestAbandoned
from bridle.gate.classify import Classification, KnownTools, Opinions
from bridle.gate.decide import terms_of
from bridle.journal.children import heard_above
from bridle.journal.recorder import Extra, ThreadLog
from bridle.ports.store import Reservation
from bridle.types import events as ev
from bridle.types.base import Fixed
from bridle.types.ids import message_id
from bridle.types.ledger import NoRoom, Room
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.agent.setup import RunSetup
    from bridle.journal.run_state import RunState
    from bridle.ports.clock import Clock
    from bridle.ports.model import Answer
    from bridle.types.messages import StopReason

NextDelay = Callable[[ModelError, int], float | None]
"""How long to wait before the attempt after this failure; None to give up."""


class Step(Fixed, frozen=True, kw_only=True):
    """Makes one request of a run.

    `cut_reason` tells why a cancelled stream was cut; None when the drain only pauses, so that the
    request is made again later.
    """

    log: ThreadLog
    run: RunState
    setup: RunSetup
    clock: Clock
    next_delay: NextDelay
    cut_reason: Callable[[], StopReason | None]

    async def settle_orphan(self) -> None:
        """Settle the request that a crash left open, at its worst case."""
        orphan = worst_case(self.run)
        if orphan is not None:
            await self.log.decide(orphan, extra=Extra(spent=(spent(orphan),)))

    async def take(self) -> None:
        """Ask the model once; what comes of it is in the log when this returns."""
        room = await self.setup.budget.room(self._request.ask(), self.run.start.account)
        if isinstance(room, NoRoom):
            await self.log.decide(ev.BudgetExhausted(run_id=self.run.run_id, why=room.why))
            return
        draft = await self._begin(room)
        classifier = self.setup.classifier
        if classifier is None:
            await self._make(room, draft, None)
            return
        try:
            async with anyio.create_task_group() as tasks:
                classification = Classification(
                    classifier=classifier,
                    decider=self.setup.decider,
                    terms=lambda: terms_of(self.log.state.grants, self.log.state.rules),
                    clock=self.clock,
                    tasks=tasks,
                )
                if not classifier.room:  # what costs nothing is asked before it is surely needed
                    draft.on_call = classification.begin
                await self._make(room, draft, classification)
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise first_error(group) from group

    @property
    def _request(self) -> NextRequest:
        return NextRequest(state=self.log.state, run=self.run, setup=self.setup)

    async def _begin(self, room: Room) -> Draft:
        run = self.run
        number = run.steps + 1
        name = message_id(run.run_id, number, "answer")
        reservation = f"{run.run_id}.{number}.{self.log.state.seq}"
        request = self._request
        try:
            await self.log.decide(
                *request.left_out(),
                ev.BudgetReserved(
                    run_id=run.run_id,
                    reservation=reservation,
                    tokens=room.tokens,
                    usd=room.usd,
                    output_tokens=room.output_tokens,
                ),
                ev.MessageStarted(
                    run_id=run.run_id,
                    message_id=name,
                    role="assistant",
                    request=request.recipe(room),
                ),
                extra=Extra(
                    reserve=Reservation(
                        id=reservation, account=run.start.account, tokens=room.tokens, usd=room.usd
                    )
                ),
            )
        except BudgetBlocked:  # a sibling was faster: look again
            raise HeadMoved("the budget moved") from None
        return Draft(
            thread_id=self.log.state.id,
            run_id=run.run_id,
            step=number,
            message_id=name,
            model=self.setup.model_id,
            author=self.setup.model.id,
            live=heard_above(self.log.journal.live, self.log.state.thread),
            redactor=self.log.journal.redactor,
        )

    async def _make(self, room: Room, draft: Draft, classification: Classification | None) -> None:
        request = self._request.body(room)
        try:
            await draft.read(self.setup.model.stream(request))
            self._check_refusal(draft)
        except ModelError as error:
            await self._failed(draft, error)
        except RequestAbandoned:
            await self._abandon(draft)
        except anyio.get_cancelled_exc_class():
            await self._cut(draft)
            raise
        else:
            await self._answered(draft, classification)

    def _check_refusal(self, draft: Draft) -> None:
        """A refusal is an answer, unless another model is there to be asked."""
        refused = draft.finish is not None and draft.finish.stop == "refused"
        if refused and self.run.start.fallbacks[self.run.fallen :]:
            raise ModelError("The provider refused to answer.", kind="refused")

    async def _answered(self, draft: Draft, classification: Classification | None) -> None:
        answer = draft.answer
        if answer is None:
            assert draft.finish is not None
            answer = self._request.answer(draft.message(), draft.finish.usage)
        found: Opinions = {}
        try:
            if classification is not None:
                calls = answer.message.calls[: self._call_room()]
                found = await classification.opinions(calls)
        finally:  # an answer that came is recorded, also when asking about it was cut
            await self._decided(answer, found)

    async def _decided(self, answer: Answer, found: Opinions) -> None:
        decider = self.setup.decider
        for opinion in found.values():  # what it took is part of what the step took
            answer = msgspec.structs.replace(
                answer,
                usage=answer.usage + opinion.usage,
                cost_usd=answer.cost_usd + opinion.cost_usd,
            )
        if found:
            known = KnownTools(decider.toolbox, found)
            decider = msgspec.structs.replace(decider, toolbox=known)
        decisions = decider.batch(
            self.run.run_id,
            answer.message.calls,
            terms_of(self.log.state.grants, self.log.state.rules),
            room=self._call_room(),
        )
        await self._record(answer, decisions)

    def _call_room(self) -> int | None:
        allowed = self.run.start.limits.max_tool_calls
        return None if allowed is None else max(0, allowed - self.run.tool_calls)

    async def _record(self, answer: Answer, decisions: list[ev.Event]) -> None:
        run = self.run
        settled = settlement(run, answer.usage, answer.cost_usd, estimated=answer.estimated)
        with anyio.CancelScope(shield=True):  # an answer that came is never lost to a cancel
            await self.log.result(
                ev.MessageEnded(run_id=run.run_id, message=answer.message),
                ev.UsageUpdated(
                    run_id=run.run_id,
                    usage=answer.usage,
                    cost_usd=answer.cost_usd,
                    estimated=answer.estimated,
                    unpriced=True if self._request.unpriced else msgspec.UNSET,
                ),
                settled,
                *decisions,
                extra=Extra(spent=(spent(settled),)),
            )

    async def _cut(self, draft: Draft) -> None:
        stop = self.cut_reason()
        if stop is None:
            await self._abandon(draft)
        else:
            await self._record(self._request.answer(draft.cut(stop), None), [])

    async def _failed(self, draft: Draft, error: ModelError) -> None:
        """Record the failure, and whether the request is made again."""
        from bridle.agent.failing import failed  # most requests do not

        delay = self.next_delay(error, self.run.failures + 1)
        why = self.log.journal.redactor.text(str(error))
        event = failed(self.run, error, model_id=self.setup.model_id, why=why, delay=delay)
        await self._abandon(draft, event)
        if delay is not None:
            await self.clock.sleep(delay)

    async def _abandon(self, draft: Draft, *events: ev.Event) -> None:
        """Settle a request that was given up, and take back what it had shown."""
        shown = draft.characters
        usage = Usage(output_tokens=shown // CHARACTERS_PER_TOKEN)
        settled = settlement(self.run, usage, self._request.cost(usage), estimated=True)
        retracted = ev.TextRetracted(
            run_id=self.run.run_id, message_id=draft.message_id, characters=shown
        )
        with anyio.CancelScope(shield=True):  # it is often given up because its scope was cut
            await self.log.result(
                settled,
                *([retracted] if shown else ()),
                *events,
                extra=Extra(spent=(spent(settled),)),
            )
