"""OpenAI Responses, without state on the server: every request brings the whole conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.errors import ModelError
from bridle.models.providers.dialects import openai_effort, reasons
from bridle.models.providers.endpoint import make_endpoint
from bridle.models.providers.openai_chat import OPENAI_URL
from bridle.models.providers.responses_decode import ResponsesDecoder
from bridle.models.providers.responses_encode import encode_head, encode_message
from bridle.models.providers.schema import is_strict, rooted
from bridle.models.wire import HeadCache, WireCache, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bridle.models.http import HttpClient
    from bridle.ports.model import ModelRequest, ModelSettings, StreamPart
    from bridle.types.ledger import Price
    from bridle.types.messages import Message


class OpenAIResponses:
    """A model behind `POST {base_url}/responses`.

    Encrypted reasoning comes back with the answer and is sent again to the same model, so nothing
    is stored at the provider.
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
    ) -> None:
        self.model = model
        self.id = f"{provider}/{model}"
        self.price = price
        self.context_window = context_window
        self._endpoint = make_endpoint(
            provider=provider,
            base_url=base_url,
            http=http,
            auth={"authorization": f"Bearer {api_key}"} if api_key else {},
            headers=headers,
        )
        self._messages: WireCache[bytes] = WireCache(self._encode_message, len)
        self._heads = HeadCache(lambda system, tools: encode_head(model, system, tools))

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request; see `Model`."""
        decoder = ResponsesDecoder(self._endpoint)
        return self._endpoint.answer("/responses", lambda: self.body(request), decoder)

    def body(self, request: ModelRequest) -> bytes:
        """The bytes of a request: tools, system and messages first, so that their prefix stays.

        Raises ModelError(kind="bad_request") for stop sequences, which this format does not have.
        """
        if request.settings.stop_sequences:
            raise ModelError(
                f"{self.id}: the Responses format has no stop sequences; use the chat format",
                kind="bad_request",
            )
        head = self._heads.get(request.system, request.tools)
        wires = b",".join(wire for wire in self._messages.all(request.messages) if wire)
        return b"".join((head, wires, b"],", self._tail(request)[1:]))

    def _encode_message(self, message: Message) -> bytes:
        return encode_message(message, self.id)

    def _tail(self, request: ModelRequest) -> bytes:
        settings = request.settings
        tail: dict[str, Any] = {"stream": True, "store": False}
        thinks = reasons(self.model) or settings.reasoning not in {None, "off"}
        if thinks:
            tail["include"] = ("reasoning.encrypted_content",)
            tail["reasoning"] = self._reasoning(settings)
        if settings.temperature is not None:
            tail["temperature"] = settings.temperature
        if settings.max_output_tokens is not None:
            tail["max_output_tokens"] = settings.max_output_tokens
        if settings.output_schema is not None:
            schema = rooted(settings.output_schema)
            strict = is_strict(schema)
            tail["text"] = {
                "format": {
                    "type": "json_schema",
                    "name": "output",
                    "schema": schema,
                    "strict": strict,
                }
            }
        if request.tools and not settings.parallel_tool_calls:
            tail["parallel_tool_calls"] = False
        if request.cache_key:
            tail["prompt_cache_key"] = request.cache_key
        return encode(tail)

    def _reasoning(self, settings: ModelSettings) -> dict[str, Any]:
        wanted: dict[str, Any] = {"summary": "auto"}
        if settings.reasoning is not None:
            effort = openai_effort(self.model, settings.reasoning) or settings.reasoning
            wanted = {"effort": effort} if effort == "none" else {"effort": effort, **wanted}
        return wanted
