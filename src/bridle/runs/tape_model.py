"""`replay/RUN`: a model that gives the answers of a recorded run again, step by step.

Unlike `bridle replay`, tools, checks and permissions are those of today: only the model's side is
from the record. The runs that the recorded one started answer for the children of the new one,
found by their task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ConfigError
from bridle.models.script import Call, Element, Report, Say, Think, fails, play
from bridle.ports.clock import SystemClock
from bridle.types import events as ev
from bridle.types.content import Text, Thinking, ToolCall
from bridle.types.ledger import Price

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bridle.ports.model import ModelRequest, StreamPart
    from bridle.runs.tree import Family
    from bridle.types.messages import Message
    from bridle.types.usage import Usage

Answers = tuple[tuple[Element, ...], ...]


class TapeModel:
    """The answers of a recorded run; `load` must have been awaited before `stream`.

    It keeps no state between requests: step n gets the n-th recorded answer, so a killed run goes
    on with the same tape. Past the end a request fails with `ModelError(kind="script_ended")`.
    """

    context_window: int | None = None
    price: Price | None = Price()

    def __init__(self, name: str, read: Callable[[str], Awaitable[Family]]) -> None:
        self.id = f"replay/{name}"
        self._name = name
        self._read = read
        self._clock = SystemClock()
        self._own: Answers | None = None
        self._below: dict[str, Answers] = {}

    async def load(self) -> None:
        """Read the record, once; raises `ConfigError` for a run that is not there or is empty."""
        if self._own is not None:
            return
        family = await self._read(self._name)
        self.id = f"replay/{family.run_id}"  # `last` will be another run soon
        own = recorded_answers(family)
        if not own:
            raise ConfigError(f"Run {family.run_id} has no answer of a model to give again.")
        for child in family.everyone():
            if child is not family:
                self._below.setdefault(_task(child), recorded_answers(child))
        self._own = own

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Give the answer of the request's step again."""
        answers = self._answers(request)
        at = max(request.step, 1) - 1
        item = answers[at] if at < len(answers) else (self._ended(len(answers), request.step),)
        return play(item, request, model=self.id, clock=self._clock)

    def _answers(self, request: ModelRequest) -> Answers:
        if self._own is None:
            raise ConfigError(f"{self.id} was not loaded.")
        if self._below:
            for message in reversed(request.messages):
                if message.role == "user" and (found := self._below.get(message.text)):
                    return found
        return self._own

    def _ended(self, held: int, step: int) -> Element:
        message = f"{self.id} has ended: it recorded {held} answers, step {step} needs one more."
        return fails("script_ended", message=message)


def recorded_answers(family: Family) -> Answers:
    """The complete answers of a run in order, each as the elements of a script."""
    usage: dict[str, Usage] = {}
    messages: list[Message] = []
    for event in family.events:
        if isinstance(event, ev.MessageEnded) and event.message.role == "assistant":
            messages.append(event.message)
        elif isinstance(event, ev.UsageUpdated) and messages:
            usage.setdefault(messages[-1].id, event.usage)
    return tuple(
        tuple(_elements(message, usage.get(message.id)))
        for message in messages
        if message.stop not in ("interrupted", "timeout")
    )


def _elements(message: Message, usage: Usage | None) -> list[Element]:
    found: list[Element] = []
    for part in message.parts:
        match part:
            case Text():
                found.append(Say(text=part.text))
            case Thinking():
                found.append(Think(part.text))
            case ToolCall():
                found.append(Call(part.tool, part.invalid or _json(part.args)))
            case _:
                pass  # models answer with nothing else
    if message.stop not in (None, "end_turn", "tool_use"):
        last = found.pop() if found and isinstance(found[-1], Say) else Say(text="")
        found.append(msgspec.structs.replace(last, stop=message.stop))
    if usage is not None:
        found.append(Report(usage))
    return found


def _json(args: dict[str, Any]) -> str:
    return msgspec.json.encode(args).decode()


def _task(family: Family) -> str:
    for event in family.events:
        if isinstance(event, ev.MessageEnded) and event.message.role == "user":
            return event.message.text
    return ""
