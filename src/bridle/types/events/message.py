"""Events about messages and the requests that produce them."""

from typing import ClassVar

import msgspec

from bridle.types.events.base import Event, Origin
from bridle.types.ledger import Price
from bridle.types.messages import Message, Role
from bridle.types.usage import Usage


class Recipe(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a model request was made: enough to build the same bytes again, without storing them.

    The request is the blob `head`, then the thread's messages up to `messages`, with `prefix` the
    hash over their ids. `price` is set when it is not the one that the run began with, `unpriced`
    when none is known though one was then, and `tool_calls` where the tools were told in the
    prompt, in that format.
    """

    model: str
    head: str
    messages: int
    prefix: str
    max_output_tokens: int | None = None
    price: Price | None = None
    unpriced: bool | msgspec.UnsetType = msgspec.UNSET
    tool_calls: str | msgspec.UnsetType = msgspec.UNSET


class MessageStarted(Event, frozen=True, kw_only=True, tag="message_start"):
    """A message begins; an assistant's message carries the recipe of its request."""

    message_id: str
    role: Role
    request: Recipe | None = None


class MessageEnded(Event, frozen=True, kw_only=True, tag="message_end"):
    """The whole message."""

    origin: ClassVar[Origin] = "input"

    message: Message
    consumes: tuple[str, ...] = ()


class UsageUpdated(Event, frozen=True, kw_only=True, tag="usage_update"):
    """Tokens and cost of one request. `estimated` when the provider did not say.

    `unpriced` is set when nobody knows what they cost, so that `cost_usd` is 0.
    """

    origin: ClassVar[Origin] = "input"

    usage: Usage
    cost_usd: float
    estimated: bool = False
    unpriced: bool | msgspec.UnsetType = msgspec.UNSET


class BudgetReserved(Event, frozen=True, kw_only=True, tag="budget_reserved"):
    """Room for the worst case of a request was set aside."""

    origin: ClassVar[Origin] = "input"

    reservation: str
    tokens: int
    usd: float
    output_tokens: int


class BudgetSettled(Event, frozen=True, kw_only=True, tag="budget_settled"):
    """What a reservation really cost; the rest is free again."""

    origin: ClassVar[Origin] = "input"

    reservation: str
    tokens: int
    usd: float
    estimated: bool = False


class BudgetExhausted(Event, frozen=True, kw_only=True, tag="budget_exhausted"):
    """A request was not made because the budget has no room for it."""

    origin: ClassVar[Origin] = "input"

    why: str


class ModelRetried(Event, frozen=True, kw_only=True, tag="model_retried"):
    """A request failed and is made again."""

    origin: ClassVar[Origin] = "input"

    model_id: str
    attempt: int
    delay: float
    why: str


class ModelFellBack(Event, frozen=True, kw_only=True, tag="model_fell_back"):
    """The run goes on with another model."""

    origin: ClassVar[Origin] = "input"

    from_model: str
    to_model: str
    why: str


class TextRetracted(Event, frozen=True, kw_only=True, tag="text_retracted"):
    """Text that was shown live is not part of the conversation: its request failed."""

    origin: ClassVar[Origin] = "input"

    message_id: str
    characters: int
