"""The next request of a run: what it weighs, how it is recorded, what is sent and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.agent.setup import NATIVE
from bridle.context.window import moved_on, newest
from bridle.ports.model import Answer, ModelRequest
from bridle.types import events as ev
from bridle.types.agents import facts_of
from bridle.types.base import Fixed
from bridle.types.chain import digest
from bridle.types.ledger import Ask, Price, Room
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.agent.setup import RunSetup
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.types.messages import Message

DEFAULT_OUTPUT_TOKENS = 8192
CHARACTERS_PER_TOKEN = 4


class NextRequest(Fixed, frozen=True, kw_only=True):
    """What the model of a run is asked next; a function of the thread as it is when it is read."""

    state: ThreadState
    run: RunState
    setup: RunSetup

    def ask(self) -> Ask:
        """What is to be reserved for it, and for a classifier that is asked about its answer."""
        classifier = self.setup.classifier
        return Ask(
            input_tokens=self._input_tokens() + (classifier.room if classifier is not None else 0),
            output_tokens=self.setup.head.settings.max_output_tokens or DEFAULT_OUTPUT_TOKENS,
            price=self.setup.model.price or Price(),
        )

    def _input_tokens(self) -> int:
        """Count by length, or by what the last request really took where that is more."""
        weight = self.state.weight
        counted = (len(self.setup.head_blob) + weight) // CHARACTERS_PER_TOKEN + 1
        tokens, then = self.run.measured
        grown = tokens + (weight - then) // CHARACTERS_PER_TOKEN + 1
        return max(counted, grown)

    def left_out(self) -> tuple[ev.Event, ...]:
        """Tell when the oldest messages are no longer sent: what a provider cached ends there."""
        limit = self.setup.head.history
        if not moved_on(self.state.messages, limit):
            return ()
        return (
            ev.PrefixBroken(
                run_id=self.run.run_id,
                cause=f"history: only the newest {limit} messages are sent",
                head=self.run.head,
                policy=self.run.start.policy,
            ),
        )

    def recipe(self, room: Room) -> ev.Recipe:
        """What it can be built from again."""
        messages = self.state.messages
        price = self.setup.model.price
        return ev.Recipe(
            model=self.setup.model_id,
            head=self.run.head,
            messages=len(messages),
            prefix=prefix_of(self.run.head, messages),
            max_output_tokens=self._output_limit(room),
            price=None if price == self.run.start.price else price,
            unpriced=True if price is None and self.run.start.price is not None else msgspec.UNSET,
            tool_calls=msgspec.UNSET if self.setup.tool_calls == NATIVE else self.setup.tool_calls,
        )

    @property
    def unpriced(self) -> bool:
        """Whether nobody knows what it costs."""
        return self.setup.model.price is None

    def body(self, room: Room) -> ModelRequest:
        """What is sent."""
        head = self.setup.head
        limit = self._output_limit(room)
        return ModelRequest(
            system=head.system,
            messages=newest(self.state.messages, head.history),
            tools=head.tools,
            settings=msgspec.structs.replace(head.settings, max_output_tokens=limit),
            run_id=self.run.run_id,
            step=self.run.steps + 1,
            cache_key=cache_key(self.state),
        )

    def _output_limit(self, room: Room) -> int | None:
        """Tell the model its limit where one was set or a budget clamps it."""
        limits = self.run.start.limits
        if limits.max_tokens is None and limits.max_usd is None:
            return self.setup.head.settings.max_output_tokens
        return room.output_tokens

    def answer(self, message: Message, told: Usage | None) -> Answer:
        """A message with what it cost; what the provider does not tell is estimated.

        So is what cannot be: fewer than no tokens would be paid back to the budget.
        """
        usage = told if told is not None and told.plausible else None
        estimated = usage is None
        if usage is None:
            written = "".join(getattr(part, "text", "") for part in message.parts)
            usage = Usage(
                input_tokens=self._input_tokens(), output_tokens=self.setup.count(written)
            )
        cost = self.cost(usage)
        return Answer(message=message, usage=usage, cost_usd=cost, estimated=estimated)

    def cost(self, usage: Usage) -> float:
        """What tokens of this model cost, as far as that is known."""
        price = self.setup.model.price
        return price.cost(usage) if price is not None else 0.0


def prefix_of(head: str, messages: Sequence[Message]) -> str:
    """What tells one beginning of a conversation from another: its head, length and end."""
    last = messages[-1].id if messages else ""
    return digest(f"{head}:{len(messages)}:{last}".encode())


def cache_key(state: ThreadState) -> str:
    """A fork shares its parent's entry in the provider's cache."""
    facts = facts_of(state.thread)
    return (facts.cache_key if facts is not None else None) or state.id
