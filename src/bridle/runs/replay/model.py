"""A model that answers from the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from bridle.errors import LeaseLost, ModelError, RequestAbandoned
from bridle.ports.model import Answer, ModelRequest, StreamPart, TextDelta, ThinkingDelta
from bridle.types import events as ev
from bridle.types.content import Text
from bridle.types.ids import message_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bridle.runs.replay.tape import Tape
    from bridle.types.ledger import Price
    from bridle.types.messages import Message

Consequence = ev.ModelRetried | ev.ModelFellBack | ev.ErrorRaised


@dataclass(frozen=True, slots=True)
class TapeModel:
    """Gives the recorded answer, or fails as the recorded request failed."""

    tape: Tape
    id: str
    started: ev.RunStarted
    context_window: int | None = None

    @property
    def price(self) -> Price | None:
        """The price of the request that is about to begin, else of the one begun last."""
        begins = isinstance(self.tape.next, ev.BudgetReserved | ev.PrefixBroken)
        place = self.tape.position
        nearest = self.tape.events[place:] if begins else reversed(self.tape.events[:place])
        for event in nearest:
            if isinstance(event, ev.MessageStarted) and event.request is not None:
                if event.request.unpriced is True:
                    return None
                return event.request.price or self.started.price
        return self.started.price

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer from the log."""
        name = message_id(request.run_id, request.step, "answer")
        settled = self.tape.ahead(ev.BudgetSettled, lambda e: e.run_id == request.run_id)
        if settled is None:
            raise LeaseLost("the recorded drain was killed during this request")
        ended = self.tape.ahead(ev.MessageEnded, lambda e: e.message.id == name)
        if ended is not None and ended.seq < settled.seq:
            await self.tape.reach(ended)
            if ended.message.stop in ("interrupted", "timeout"):
                for part in _prose(ended.message):
                    yield part
                await anyio.sleep_forever()  # until it is cut
            usage = self.tape.ahead(ev.UsageUpdated, lambda e: e.run_id == request.run_id)
            assert usage is not None
            yield Answer(
                message=ended.message,
                usage=usage.usage,
                cost_usd=usage.cost_usd,
                estimated=usage.estimated,
            )
            return
        await self.tape.reach(settled)
        retracted = self.tape.ahead(ev.TextRetracted, lambda e: e.message_id == name)
        if retracted is not None and retracted.seq == settled.seq + 1:
            yield TextDelta("x" * retracted.characters)
        match failure_ahead(self.tape, request.run_id):
            case None:
                raise RequestAbandoned("the drain paused during this request")
            case ev.ErrorRaised(error=error):
                raise ModelError(error.message, kind=error.type)  # type: ignore[arg-type]
            case ev.ModelRetried(why=why) | ev.ModelFellBack(why=why):
                raise ModelError(why, kind="unavailable")


def _prose(message: Message) -> Iterator[StreamPart]:
    """Stream the texts of a message so that they come out as the same parts."""
    for number, part in enumerate(message.parts):
        if number:
            yield ThinkingDelta("")
        if isinstance(part, Text):
            yield TextDelta(part.text)


def failure_ahead(tape: Tape, run_id: str | None = None) -> Consequence | None:
    """What the recorded drain did about its next failed request, of any run or of one."""

    def of_run(event: Consequence) -> bool:
        return run_id in (None, event.run_id)

    found: list[Consequence | None] = [
        tape.ahead(ev.ModelRetried, of_run),
        tape.ahead(ev.ModelFellBack, of_run),
        tape.ahead(ev.ErrorRaised, of_run),
    ]
    there = [event for event in found if event is not None]
    return min(there, key=lambda event: event.seq, default=None)


def recorded_delay(tape: Tape) -> float | None:
    """How long the recorded drain waited after a failure; None when it gave up."""
    failure = failure_ahead(tape)
    return failure.delay if isinstance(failure, ev.ModelRetried) else None
