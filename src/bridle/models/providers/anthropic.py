"""Anthropic Messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.models.providers.anthropic_decode import AnthropicDecoder
from bridle.models.providers.anthropic_encode import (
    AnthropicWire,
    encode_head,
    encode_message,
    join_messages,
)
from bridle.models.providers.anthropic_thinking import (
    default_max_tokens,
    thinking_fields,
    thinks,
    version_of,
)
from bridle.models.providers.endpoint import make_endpoint
from bridle.models.providers.schema import rooted, within_limits
from bridle.models.wire import HeadCache, WireCache, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bridle.models.http import HttpClient
    from bridle.ports.model import ModelRequest, StreamPart
    from bridle.types.ledger import Price
    from bridle.types.messages import Message

ANTHROPIC_URL = "https://api.anthropic.com"
API_VERSION = "2023-06-01"
"""The version that still takes a temperature; a header of the same name replaces it."""


class Anthropic:
    """A model behind `POST {base_url}/v1/messages`.

    Requests carry cache marks on the stable head, on the end of the request before and on the
    last message; the marks are added beside the cached bytes of the messages.
    """

    def __init__(
        self,
        model: str,
        *,
        http: HttpClient,
        provider: str = "anthropic",
        base_url: str = ANTHROPIC_URL,
        api_key: str | None = None,
        price: Price | None = None,
        context_window: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model
        self.id = f"{provider}/{model}"
        self.price = price
        self.context_window = context_window
        self._version = version_of(model)
        self._endpoint = make_endpoint(
            provider=provider,
            base_url=base_url.removesuffix("/").removesuffix("/v1"),
            http=http,
            auth={"x-api-key": api_key} if api_key else {},
            headers={"anthropic-version": API_VERSION, **_lower(headers)},
        )
        self._messages: WireCache[AnthropicWire] = WireCache(
            self._encode_message, AnthropicWire.size
        )
        self._heads = HeadCache(lambda system, tools: encode_head(model, system, tools))

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request; see `Model`."""
        decoder = AnthropicDecoder(self._endpoint)
        return self._endpoint.answer("/v1/messages", lambda: self.body(request), decoder)

    def body(self, request: ModelRequest) -> bytes:
        """The bytes of a request: tools, system and messages first, so that their prefix stays."""
        head = self._heads.get(request.system, request.tools)
        wires = self._messages.all(request.messages)
        tail = self._tail(request, wires)
        return b"".join((head, *join_messages(wires), b"],", tail[1:]))

    def _encode_message(self, message: Message) -> AnthropicWire:
        return encode_message(message, self.id)

    def _tail(self, request: ModelRequest, wires: list[AnthropicWire]) -> bytes:
        settings = request.settings
        max_tokens = settings.max_output_tokens or default_max_tokens(self._version)
        tail: dict[str, Any] = {"stream": True, "max_tokens": max_tokens}
        output: dict[str, Any] = {}
        if settings.reasoning is not None:
            thinking, effort = thinking_fields(
                self._version, settings.reasoning, max_tokens, resuming=_resumes_unthought(wires)
            )
            if thinking is not None:
                tail["thinking"] = thinking
            if effort is not None:
                output["effort"] = effort
        if settings.temperature is not None and not thinks(tail.get("thinking")):
            tail["temperature"] = settings.temperature
        if settings.stop_sequences:
            tail["stop_sequences"] = settings.stop_sequences
        if settings.output_schema is not None:
            schema = within_limits(rooted(settings.output_schema))
            output["format"] = {"type": "json_schema", "schema": schema}
        if output:
            tail["output_config"] = output
        if request.tools and not settings.parallel_tool_calls:
            tail["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
        return encode(tail)


def _resumes_unthought(wires: list[AnthropicWire]) -> bool:
    """Whether the answer continues a turn of tool calls that began without own thinking.

    With a thinking budget such a request is refused; the turn goes on without thinking.
    """
    for wire in reversed(wires):
        if wire.role == "assistant":
            return wire.has_calls and not wire.thinks_first
        if not wire.is_results:
            return False
    return False


def _lower(headers: Mapping[str, str] | None) -> dict[str, str]:
    return {name.lower(): value for name, value in (headers or {}).items()}
