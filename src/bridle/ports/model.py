"""The model: one request in, a stream of parts out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import msgspec

from bridle.types.messages import Message, StopReason
from bridle.types.tools import ToolSpec
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bridle.types.ledger import Price

Reasoning = Literal["off", "low", "medium", "high"]


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the model should answer; None leaves it to the provider."""

    temperature: float | None = None
    reasoning: Reasoning | None = None
    max_output_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()
    output_schema: dict[str, Any] | None = None
    parallel_tool_calls: bool = True


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a provider needs for one answer.

    `system` and `tools` do not change within a run and `messages` only grows at its end, so an
    adapter encodes each message once and joins the bytes. `step` is the number of the request in
    its run; `cache_key` is the same for all requests of a thread.
    """

    system: str
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...]
    settings: ModelSettings = ModelSettings()
    run_id: str = ""
    step: int = 0
    cache_key: str = ""


class TextDelta(msgspec.Struct, frozen=True):
    """More text of the answer."""

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, omit_defaults=True):
    """More reasoning; `private` is what only this provider understands and must get back."""

    text: str
    private: dict[str, Any] | None = None


class CallStart(msgspec.Struct, frozen=True, omit_defaults=True):
    """The model begins a tool call; `index` tells parallel calls apart within the answer."""

    index: int
    tool: str
    provider_id: str | None = None
    private: dict[str, Any] | None = None


class CallDelta(msgspec.Struct, frozen=True):
    """More of the JSON text of a call's arguments."""

    index: int
    text: str


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The answer is complete. Without it no call of the stream may run."""

    stop: StopReason
    usage: Usage | None = None
    model: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer at once, with what was recorded of its cost: how a log answers in replay."""

    message: Message
    usage: Usage
    cost_usd: float
    estimated: bool


StreamPart = TextDelta | ThinkingDelta | CallStart | CallDelta | Finish | Answer


class Model(Protocol):
    """A source of answers.

    `stream` yields parts and ends after exactly one `Finish` (or is one `Answer`), or raises
    `ModelError`. Closing the
    iterator early closes the connection.
    """

    @property
    def id(self) -> str:
        """The full id, `provider/model`."""
        ...

    @property
    def context_window(self) -> int | None:
        """How many tokens fit in a request and its answer; None when unknown."""
        ...

    @property
    def price(self) -> Price | None:
        """What tokens cost; None when unknown."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request."""
        ...


@runtime_checkable
class Loadable(Protocol):
    """A model that has to be fetched before its first answer."""

    async def load(self) -> None:
        """Fetch it, once; raises `ConfigError` when it cannot be."""
        ...
