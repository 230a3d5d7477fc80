"""OpenAI-compatible chat completions: the format that most servers speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.models.providers.chat_decode import ChatDecoder
from bridle.models.providers.chat_encode import ChatWire, encode_head, encode_message, join_messages
from bridle.models.providers.dialects import ChatDialect, dialect_for
from bridle.models.providers.endpoint import make_endpoint
from bridle.models.providers.schema import is_strict, rooted
from bridle.models.wire import HeadCache, WireCache, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bridle.models.http import HttpClient
    from bridle.ports.model import ModelRequest, ModelSettings, StreamPart
    from bridle.types.ledger import Price
    from bridle.types.messages import Message

OPENAI_URL = "https://api.openai.com/v1"


class OpenAIChat:
    """A model behind `POST {base_url}/chat/completions`.

    `dialect` says where the server differs from the others; by default it follows from the
    provider's name.
    """

    def __init__(
        self,
        model: str,
        *,
        http: HttpClient,
        provider: str = "openai",
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        price: Price | None = None,
        context_window: int | None = None,
        headers: Mapping[str, str] | None = None,
        dialect: ChatDialect | None = None,
    ) -> None:
        self.model = model
        self.id = f"{provider}/{model}"
        self.price = price
        self.context_window = context_window
        self._dialect = dialect or dialect_for(provider, base_url)
        self._endpoint = make_endpoint(
            provider=provider,
            base_url=base_url,
            http=http,
            auth={"authorization": f"Bearer {api_key}"} if api_key else {},
            headers=headers,
        )
        self._messages: WireCache[ChatWire] = WireCache(self._encode_message, ChatWire.size)
        self._heads = HeadCache(lambda system, tools: encode_head(model, system, tools))

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request; see `Model`."""
        decoder = ChatDecoder(self._endpoint, request.settings.stop_sequences)
        return self._endpoint.answer("/chat/completions", lambda: self.body(request), decoder)

    def body(self, request: ModelRequest) -> bytes:
        """The bytes of a request: tools, system and messages first, so that their prefix stays."""
        head = self._heads.get(request.system, request.tools)
        wires = self._messages.all(request.messages)
        return b"".join((*join_messages(head, wires), b"],", self._tail(request)[1:]))

    def _encode_message(self, message: Message) -> ChatWire:
        return encode_message(message, self.id, self._dialect)

    def _tail(self, request: ModelRequest) -> bytes:
        settings, dialect = request.settings, self._dialect
        tail: dict[str, Any] = {"stream": True}
        if dialect.asks_usage:
            tail["stream_options"] = {"include_usage": True}
        if settings.temperature is not None:
            tail["temperature"] = settings.temperature
        if settings.max_output_tokens is not None:
            tail[dialect.max_tokens_field] = settings.max_output_tokens
        if settings.reasoning is not None:
            tail.update(dialect.reasoning(self.model, settings.reasoning))
        if settings.stop_sequences:
            tail["stop"] = settings.stop_sequences
        if settings.output_schema is not None:
            tail["response_format"] = _response_format(settings)
        if request.tools and not settings.parallel_tool_calls:
            tail["parallel_tool_calls"] = False
        if request.cache_key and dialect.cache_key:
            tail["prompt_cache_key"] = request.cache_key
        return encode(tail)


def _response_format(settings: ModelSettings) -> dict[str, Any]:
    schema = rooted(settings.output_schema or {})
    return {
        "type": "json_schema",
        "json_schema": {"name": "output", "schema": schema, "strict": is_strict(schema)},
    }
