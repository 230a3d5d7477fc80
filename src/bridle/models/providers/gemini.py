"""Google Gemini: generateContent, streamed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bridle.models.providers.endpoint import make_endpoint
from bridle.models.providers.gemini_decode import GeminiDecoder
from bridle.models.providers.gemini_encode import (
    GeminiWire,
    encode_head,
    encode_message,
    join_messages,
)
from bridle.models.providers.schema import rooted
from bridle.models.wire import HeadCache, WireCache, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bridle.models.http import HttpClient
    from bridle.ports.model import ModelRequest, Reasoning, StreamPart
    from bridle.types.ledger import Price
    from bridle.types.messages import Message

GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"
_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_BUDGETS = {"off": 0, "low": 2048, "medium": 8192, "high": 24576}
_PRO_MIN_BUDGET = 128


class Gemini:
    """A model behind `POST {base_url}/models/{model}:streamGenerateContent`.

    The format has no switch for parallel tool calls; `parallel_tool_calls=False` has no effect on
    it.
    """

    def __init__(
        self,
        model: str,
        *,
        http: HttpClient,
        provider: str = "google",
        base_url: str = GEMINI_URL,
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
            auth={"x-goog-api-key": api_key} if api_key else {},
            headers=headers,
        )
        name = model if "/" in model else f"models/{model}"
        self._path = f"/{quote(name)}:streamGenerateContent?alt=sse"
        self._needs_signature = _version(model) >= (3, 0)
        self._messages: WireCache[GeminiWire] = WireCache(self._encode_message, GeminiWire.size)
        self._heads = HeadCache(encode_head)

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request; see `Model`."""
        decoder = GeminiDecoder(self._endpoint)
        return self._endpoint.answer(self._path, lambda: self.body(request), decoder)

    def body(self, request: ModelRequest) -> bytes:
        """The bytes of a request: tools, system and messages first, so that their prefix stays."""
        head = self._heads.get(request.system, request.tools)
        wires = self._messages.all(request.messages)
        tail = self._tail(request)
        end = b',"generationConfig":' + encode(tail) + b"}" if tail else b"}"
        return b"".join((head, *join_messages(wires), b"]", end))

    def _encode_message(self, message: Message) -> GeminiWire:
        return encode_message(message, self.id, needs_signature=self._needs_signature)

    def _tail(self, request: ModelRequest) -> dict[str, Any]:
        settings = request.settings
        tail: dict[str, Any] = {}
        if settings.temperature is not None:
            tail["temperature"] = settings.temperature
        if settings.max_output_tokens is not None:
            tail["maxOutputTokens"] = settings.max_output_tokens
        if settings.stop_sequences:
            tail["stopSequences"] = settings.stop_sequences
        if settings.output_schema is not None:
            tail["responseMimeType"] = "application/json"
            tail["responseJsonSchema"] = rooted(settings.output_schema)
        if settings.reasoning is not None:
            tail["thinkingConfig"] = _thinking(self.model, settings.reasoning)
        return tail


def _version(model: str) -> tuple[int, int]:
    match = _VERSION.search(model)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def _thinking(model: str, reasoning: Reasoning) -> dict[str, Any]:
    """A level from Gemini 3 on, a budget of tokens before; `off` is the least the model can."""
    shown = {"includeThoughts": True} if reasoning != "off" else {}
    if _version(model) >= (3, 0):
        least = "LOW" if "pro" in model else "MINIMAL"
        return {**shown, "thinkingLevel": least if reasoning == "off" else reasoning.upper()}
    least_budget = _PRO_MIN_BUDGET if "pro" in model else 0
    return {**shown, "thinkingBudget": max(_BUDGETS[reasoning], least_budget)}
