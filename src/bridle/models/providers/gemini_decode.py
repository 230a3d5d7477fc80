"""The event stream of Gemini, as parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ModelError
from bridle.models.errors import complaint_of, provider_error
from bridle.models.wire import decode, encode
from bridle.ports.model import CallDelta, CallStart, Finish, StreamPart, TextDelta, ThinkingDelta
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.models.providers.endpoint import Endpoint
    from bridle.models.sse import SseEvent
    from bridle.types.messages import StopReason

_REFUSALS = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)
_MALFORMED = frozenset({"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"})


class _Call(msgspec.Struct):
    name: str | None = None
    id: str | None = None
    args: Any = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _Call | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    index: int | None = None


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    prompt_feedback: _Feedback | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk, strict=False)


class GeminiDecoder:
    """Reads one answer; its end is a finish reason, after which the body ends."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._stop: StopReason | None = None
        self._malformed: str | None = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._calls = 0

    @property
    def done(self) -> bool:
        """Never before the body's end: usage may come after the finish reason."""
        return False

    @property
    def ended(self) -> bool:
        """Whether a finish reason came."""
        return self._stop is not None

    def feed(self, event: SseEvent) -> list[StreamPart]:
        """Take one chunk; fields that are not known are passed over."""
        if not event.data or event.data == "[DONE]":
            return []
        chunk = decode(event.data, _CHUNK, self._endpoint.provider)
        if chunk.error is not None:
            raise provider_error(
                complaint_of({"error": chunk.error}),
                provider=self._endpoint.provider,
                secrets=self._endpoint.secrets,
            )
        if chunk.model_version:
            self._model = chunk.model_version
        if chunk.usage_metadata is not None:
            self._usage = _usage(chunk.usage_metadata)
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._stop = "refused"
        parts: list[StreamPart] = []
        for candidate in chunk.candidates or ():
            if not candidate.index:
                self._candidate(candidate, parts)
        return parts

    def finish(self) -> Finish:
        """End the answer. Raises ModelError: `cut` without a finish reason, `protocol` when the
        model wrote a call that the provider could not read.
        """
        if self._malformed is not None:
            raise ModelError(f"{self._endpoint.provider}: {self._malformed}", kind="protocol")
        if self._stop is None:
            raise ModelError(
                f"The stream of {self._endpoint.provider} ended before the answer did", kind="cut"
            )
        stop = self._stop
        if stop == "end_turn" and self._calls:
            stop = "tool_use"
        return Finish(stop=stop, usage=self._usage, model=self._model)

    def _candidate(self, candidate: _Candidate, parts: list[StreamPart]) -> None:
        for part in (candidate.content.parts if candidate.content else None) or ():
            self._part(part, parts)
        reason = candidate.finish_reason
        if not reason or reason == "FINISH_REASON_UNSPECIFIED":
            return
        if reason in _MALFORMED:
            self._malformed = candidate.finish_message or reason
        if reason in _REFUSALS:
            self._stop = "refused"
        else:
            self._stop = "max_tokens" if reason == "MAX_TOKENS" else "end_turn"

    def _part(self, part: _Part, parts: list[StreamPart]) -> None:
        signature = part.thought_signature
        private = {"thought_signature": signature} if signature else None
        if part.function_call is not None:
            self._call(part.function_call, private, parts)
        elif part.thought:
            if part.text or private:
                parts.append(ThinkingDelta(part.text or "", private))
        else:
            if part.text:
                parts.append(TextDelta(part.text))
            if private:
                parts.append(ThinkingDelta("", private))

    def _call(self, call: _Call, private: dict[str, Any] | None, parts: list[StreamPart]) -> None:
        if not call.name:
            raise ModelError(
                f"{self._endpoint.provider} sent a tool call without a name", kind="protocol"
            )
        index = self._calls
        self._calls += 1
        parts.append(CallStart(index, call.name, call.id, private))
        args = {} if call.args is None else call.args
        parts.append(CallDelta(index, encode(args).decode()))


def _usage(usage: _Usage) -> Usage:
    thoughts = usage.thoughts_token_count or 0
    return Usage(
        input_tokens=(usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0),
        output_tokens=(usage.candidates_token_count or 0) + thoughts,
        cached_tokens=usage.cached_content_token_count or 0,
        reasoning_tokens=thoughts,
    )
