"""One step: reserve, ask the model, record its answer and what is decided about its calls.

Two commits: the reservation with the start of the request, then the answer with everything that
follows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.agent.budget import spent, worst_case
from bridle.agent.calls import first_error
from bridle.agent.setup import NATIVE
from bridle.agent.stream import Draft
from bridle.context.window import moved_on, newest
from bridle.errors import BudgetBlocked, HeadMoved, ModelError, RequestAbandoned
from bridle.gate.classify import Classification, KnownTools, Opinions
from bridle.gate.decide import terms_of
from bridle.journal.children import heard_above
from bridle.journal.recorder import Extra, ThreadLog
from bridle.ports.model import Answer, ModelRequest
from bridle.ports.store import Reservation
from bridle.types import events as ev
from bridle.types.agents import facts_of
from bridle.types.base import Fixed
from bridle.types.chain import digest
from bridle.types.ids import message_id
from bridle.types.ledger import Ask, NoRoom, Price, Room
from bridle.types.runs import Failure
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import TaskGroup

    from bridle.agent.setup import RunSetup
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.ports.classifier import Classifier
    from bridle.ports.clock import Clock
    from bridle.types.messages import Message, StopReason

DEFAULT_OUTPUT_TOKENS = 8192
CHARACTERS_PER_TOKEN = 4

FALLBACK_KINDS = frozenset(
    {
        "rate_limit",
        "unavailable",
        "timeout",
        "protocol",
        "cut",
        "context_overflow",
        "refused",
        "authentication",
    }
)
"""Failures that another model may not have."""

NextDelay = Callable[[ModelError, int], float | None]
"""How long to wait before the attempt after this failure; None to give up."""


class Step(Fixed, frozen=True, kw_only=True):
    """Makes one request of a run.

    `cut_reason` tells why a cancelled stream was cut; None when the drain only pauses, so that the
    request is made again later.
    """

    log: ThreadLog
    setup: RunSetup
    clock: Clock
    next_delay: NextDelay
    cut_reason: Callable[[], StopReason | None]

    async def take(self, run: RunState) -> None:
        """Ask the model once; what comes of it is in the log when this returns."""
        ask = self._ask(run)
        if self.setup.classifier is not None:
            more = ask.input_tokens + self.setup.classifier.room
            ask = msgspec.structs.replace(ask, input_tokens=more)
        room = await self.setup.budget.room(ask, run.start.account)
        if isinstance(room, NoRoom):
            await self.log.decide(ev.BudgetExhausted(run_id=run.run_id, why=room.why))
            return
        draft = await self._begin(run, room)
        classifier = self.setup.classifier
        if classifier is None:
            await self._make(run, room, draft, None)
            return
        try:
            async with anyio.create_task_group() as tasks:
                classification = self._classification(classifier, tasks)
                if not classifier.room:  # what costs nothing is asked before it is surely needed
                    draft.on_call = classification.begin
                await self._make(run, room, draft, classification)
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise first_error(group) from group

    async def _make(
        self, run: RunState, room: Room, draft: Draft, classification: Classification | None
    ) -> None:
        request = self._request(run, room)
        try:
            await draft.read(self.setup.model.stream(request))
            self._check_refusal(run, draft)
        except ModelError as error:
            await self._failed(run, draft, error)
        except RequestAbandoned:
            await self._abandon(run, draft)
        except anyio.get_cancelled_exc_class():
            await self._cut(run, draft)
            raise
        else:
            await self._answered(run, draft, classification)

    def _classification(self, classifier: Classifier, tasks: TaskGroup) -> Classification:
        return Classification(
            classifier=classifier,
            decider=self.setup.decider,
            terms=lambda: terms_of(self.log.state.grants, self.log.state.rules),
            clock=self.clock,
            tasks=tasks,
        )

    def _check_refusal(self, run: RunState, draft: Draft) -> None:
        """A refusal is an answer, unless another model is there to be asked."""
        refused = draft.finish is not None and draft.finish.stop == "refused"
        if refused and run.start.fallbacks[run.fallen :]:
            raise ModelError("The provider refused to answer.", kind="refused")

    async def settle_orphan(self, run: RunState) -> None:
        """Settle the request that a crash left open, at its worst case."""
        orphan = worst_case(run)
        if orphan is not None:
            await self.log.decide(orphan, extra=Extra(spent=(spent(orphan),)))

    def _ask(self, run: RunState) -> Ask:
        """Count by length, or by what the last request really took where that is more."""
        weight = self.log.state.weight
        counted = (len(self.setup.head_blob) + weight) // CHARACTERS_PER_TOKEN + 1
        tokens, then = run.measured
        grown = tokens + (weight - then) // CHARACTERS_PER_TOKEN + 1
        return Ask(
            input_tokens=max(counted, grown),
            output_tokens=self.setup.head.settings.max_output_tokens or DEFAULT_OUTPUT_TOKENS,
            price=self.setup.model.price or Price(),
        )

    async def _begin(self, run: RunState, room: Room) -> Draft:
        number = run.steps + 1
        name = message_id(run.run_id, number, "answer")
        reservation = f"{run.run_id}.{number}.{self.log.state.seq}"
        reserved = ev.BudgetReserved(
            run_id=run.run_id,
            reservation=reservation,
            tokens=room.tokens,
            usd=room.usd,
            output_tokens=room.output_tokens,
        )
        started = ev.MessageStarted(
            run_id=run.run_id, message_id=name, role="assistant", request=self._recipe(run, room)
        )
        wanted = Reservation(
            id=reservation, account=run.start.account, tokens=room.tokens, usd=room.usd
        )
        try:
            broken = self._left_out(run)
            await self.log.decide(*broken, reserved, started, extra=Extra(reserve=wanted))
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

    def _left_out(self, run: RunState) -> tuple[ev.Event, ...]:
        """Tell when the oldest messages are no longer sent: what a provider cached ends there."""
        limit = self.setup.head.history
        if not moved_on(self.log.state.messages, limit):
            return ()
        cause = f"history: only the newest {limit} messages are sent"
        policy = run.start.policy
        return (ev.PrefixBroken(run_id=run.run_id, cause=cause, head=run.head, policy=policy),)

    def _recipe(self, run: RunState, room: Room) -> ev.Recipe:
        messages = self.log.state.messages
        price = self.setup.model.price
        return ev.Recipe(
            model=self.setup.model_id,
            head=run.head,
            messages=len(messages),
            prefix=prefix_of(run.head, messages),
            max_output_tokens=self._output_limit(run, room),
            price=None if price == run.start.price else price,
            tool_calls=msgspec.UNSET if self.setup.tool_calls == NATIVE else self.setup.tool_calls,
        )

    def _output_limit(self, run: RunState, room: Room) -> int | None:
        """Tell the model its limit where one was set or a budget clamps it."""
        limits = run.start.limits
        if limits.max_tokens is None and limits.max_usd is None:
            return self.setup.head.settings.max_output_tokens
        return room.output_tokens

    def _request(self, run: RunState, room: Room) -> ModelRequest:
        head = self.setup.head
        return ModelRequest(
            system=head.system,
            messages=newest(self.log.state.messages, head.history),
            tools=head.tools,
            settings=msgspec.structs.replace(
                head.settings, max_output_tokens=self._output_limit(run, room)
            ),
            run_id=run.run_id,
            step=run.steps + 1,
            cache_key=cache_key(self.log.state),
        )

    async def _answered(
        self, run: RunState, draft: Draft, classification: Classification | None
    ) -> None:
        answer = draft.answer or self._priced(run, draft)
        found: Opinions = {}
        try:
            if classification is not None:
                calls = answer.message.calls[: self._call_room(run)]
                found = await classification.opinions(calls)
        finally:  # an answer that came is recorded, also when asking about it was cut
            await self._decided(run, answer, found)

    async def _decided(self, run: RunState, answer: Answer, found: Opinions) -> None:
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
            run.run_id,
            answer.message.calls,
            terms_of(self.log.state.grants, self.log.state.rules),
            room=self._call_room(run),
        )
        await self._record(run, answer, decisions)

    def _priced(self, run: RunState, draft: Draft) -> Answer:
        assert draft.finish is not None
        return self._costed(run, draft.message(), draft.finish.usage)

    def _costed(self, run: RunState, message: Message, told: Usage | None) -> Answer:
        usage = told or self._estimate(run, message)
        price = self.setup.model.price
        return Answer(
            message=message,
            usage=usage,
            cost_usd=price.cost(usage) if price is not None else 0.0,
            estimated=told is None,
        )

    async def _cut(self, run: RunState, draft: Draft) -> None:
        stop = self.cut_reason()
        if stop is None:
            await self._abandon(run, draft)
        else:
            await self._record(run, self._costed(run, draft.cut(stop), None), [])

    async def _abandon(self, run: RunState, draft: Draft) -> None:
        """Settle a request that was given up, and take back what it had shown."""
        events, extra = self._given_up(run, draft)
        with anyio.CancelScope(shield=True):  # it is often given up because its scope was cut
            await self.log.result(*events, extra=extra)

    def _given_up(self, run: RunState, draft: Draft) -> tuple[list[ev.Event], Extra]:
        shown = draft.characters
        usage = Usage(output_tokens=shown // CHARACTERS_PER_TOKEN)
        price = self.setup.model.price
        cost = price.cost(usage) if price is not None else 0.0
        settled = self._settlement(run, usage, cost, estimated=True)
        events: list[ev.Event] = [settled]
        if shown:
            events.append(
                ev.TextRetracted(run_id=run.run_id, message_id=draft.message_id, characters=shown)
            )
        return events, Extra(spent=(spent(settled),))

    async def _record(self, run: RunState, answer: Answer, decisions: list[ev.Event]) -> None:
        settled = self._settlement(run, answer.usage, answer.cost_usd, estimated=answer.estimated)
        with anyio.CancelScope(shield=True):  # an answer that came is never lost to a cancel
            await self.log.result(
                ev.MessageEnded(run_id=run.run_id, message=answer.message),
                ev.UsageUpdated(
                    run_id=run.run_id,
                    usage=answer.usage,
                    cost_usd=answer.cost_usd,
                    estimated=answer.estimated,
                ),
                settled,
                *decisions,
                extra=Extra(spent=(spent(settled),)),
            )

    async def _failed(self, run: RunState, draft: Draft, error: ModelError) -> None:
        """Record the failure, and whether the request is made again."""
        events, extra = self._given_up(run, draft)
        attempt = run.failures + 1
        why = self.log.journal.redactor.text(str(error))
        delay = self.next_delay(error, attempt)
        fallback = self._fallback(run, error) if delay is None else None
        if fallback is not None:
            events.append(
                ev.ModelFellBack(
                    run_id=run.run_id,
                    from_model=self.setup.model_id,
                    to_model=fallback,
                    why=why,
                )
            )
        elif delay is None:
            failure = Failure(type=error.kind, message=why, retryable=error.retryable)
            events.append(
                ev.ErrorRaised(run_id=run.run_id, error=failure, retryable=error.retryable)
            )
        else:
            events.append(
                ev.ModelRetried(
                    run_id=run.run_id,
                    model_id=self.setup.model_id,
                    attempt=attempt,
                    delay=delay,
                    why=why,
                )
            )
        with anyio.CancelScope(shield=True):
            await self.log.result(*events, extra=extra)
        if delay is not None:
            await self.clock.sleep(delay)

    def _fallback(self, run: RunState, error: ModelError) -> str | None:
        """The model that takes over, where another one could do what this one could not."""
        left = run.start.fallbacks[run.fallen :]
        return left[0] if left and error.kind in FALLBACK_KINDS else None

    def _settlement(
        self, run: RunState, usage: Usage, cost: float, *, estimated: bool
    ) -> ev.BudgetSettled:
        assert run.reservation is not None, "a request is made with its reservation"
        return ev.BudgetSettled(
            run_id=run.run_id,
            reservation=run.reservation.reservation,
            tokens=usage.total_tokens,
            usd=cost,
            estimated=estimated,
        )

    def _estimate(self, run: RunState, message: Message) -> Usage:
        written = "".join(getattr(part, "text", "") for part in message.parts)
        return Usage(
            input_tokens=self._ask(run).input_tokens,
            output_tokens=self.setup.count(written),
        )

    def _call_room(self, run: RunState) -> int | None:
        allowed = run.start.limits.max_tool_calls
        return None if allowed is None else max(0, allowed - run.tool_calls)


def prefix_of(head: str, messages: Sequence[Message]) -> str:
    """What tells one beginning of a conversation from another: its head, length and end."""
    last = messages[-1].id if messages else ""
    return digest(f"{head}:{len(messages)}:{last}".encode())


def cache_key(state: ThreadState) -> str:
    """A fork shares its parent's entry in the provider's cache."""
    facts = facts_of(state.thread)
    return (facts.cache_key if facts is not None else None) or state.id
