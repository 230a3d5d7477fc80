"""The event stream of chat completions, as parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ModelError
from bridle.models.errors import complaint_of, provider_error
from bridle.models.wire import arguments_text, decode
from bridle.ports.model import CallDelta, CallStart, Finish, StreamPart, TextDelta, ThinkingDelta
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.models.providers.endpoint import Endpoint
    from bridle.models.sse import SseEvent
    from bridle.types.messages import StopReason

_STOPS: dict[str, StopReason] = {
    "stop": "end_turn",
    "eos": "end_turn",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refused",
    "refusal": "refused",
}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: Any = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None
    stop_reason: Any = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk, strict=False)


class _OpenCall:
    """A call that is being written; nothing is told of it before its name is known."""

    __slots__ = ("held", "id", "index", "name")

    def __init__(self, index: int) -> None:
        self.index = index
        self.id: str | None = None
        self.name = ""
        self.held: list[str] = []


class ChatDecoder:
    """Reads one answer; `finish_reason` is its end, `[DONE]` or the end of the body follow it."""

    def __init__(self, endpoint: Endpoint, stop_sequences: tuple[str, ...] = ()) -> None:
        self.done = False
        self._endpoint = endpoint
        self._stop_sequences = stop_sequences
        self._stop: StopReason | None = None
        self._refused = False
        self._usage: Usage | None = None
        self._model: str | None = None
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._reasoning_field: str | None = None
        self._details: list[dict[str, Any]] = []

    @property
    def ended(self) -> bool:
        """Whether a finish reason came."""
        return self._stop is not None

    def feed(self, event: SseEvent) -> list[StreamPart]:
        """Take one chunk; fields and events that are not known are passed over."""
        data = event.data.strip()
        if data == "[DONE]":
            self.done = True
            return self._close_reasoning()
        if not data:
            return []
        chunk = decode(data, _CHUNK, self._endpoint.provider)
        if chunk.error is not None:
            raise provider_error(
                complaint_of({"error": chunk.error}),
                provider=self._endpoint.provider,
                secrets=self._endpoint.secrets,
            )
        if chunk.model:
            self._model = chunk.model
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        parts: list[StreamPart] = []
        for choice in chunk.choices or ():
            if not choice.index:
                self._choice(choice, parts)
        return parts

    def finish(self) -> Finish:
        """End the answer. Raises ModelError: `cut` without a finish reason, `protocol` for a call
        that never got a name.
        """
        if self._stop is None:
            raise ModelError(
                f"The stream of {self._endpoint.provider} ended before the answer did", kind="cut"
            )
        if any(not call.name for call in self._calls):
            raise ModelError(
                f"{self._endpoint.provider} sent a tool call without a name", kind="protocol"
            )
        stop: StopReason = "refused" if self._refused else self._stop
        if stop == "end_turn" and self._calls:
            stop = "tool_use"
        return Finish(stop=stop, usage=self._usage, model=self._model)

    def _choice(self, choice: _Choice, parts: list[StreamPart]) -> None:
        delta = choice.delta
        if delta is not None:
            self._reasoning(delta, parts)
            if delta.content:
                self._content(delta.content, parts)
            if delta.refusal:
                parts += self._close_reasoning()
                parts.append(TextDelta(delta.refusal))
                self._refused = True
            for call in delta.tool_calls or ():
                parts += self._close_reasoning()
                self._call(call, parts)
        if choice.finish_reason:
            parts += self._close_reasoning()
            self._stop = _STOPS.get(choice.finish_reason, "end_turn")
            if choice.stop_reason in self._stop_sequences and self._stop == "end_turn":
                self._stop = "stop_sequence"

    def _reasoning(self, delta: _Delta, parts: list[StreamPart]) -> None:
        text = delta.reasoning_content
        if text:
            self._reasoning_field = "reasoning_content"
        elif isinstance(delta.reasoning, str) and delta.reasoning:
            text = delta.reasoning
            self._reasoning_field = "reasoning"
        if text:
            parts.append(ThinkingDelta(text))
        for detail in delta.reasoning_details or ():
            if isinstance(detail, dict):
                _merge_detail(self._details, detail)

    def _close_reasoning(self) -> list[StreamPart]:
        """End the reasoning so far with what the server wants to have back."""
        private: dict[str, Any] = {}
        if self._reasoning_field and not self._details:
            private["field"] = self._reasoning_field
        if self._details:
            private["reasoning_details"] = self._details
        self._reasoning_field = None
        self._details = []
        return [ThinkingDelta("", private)] if private else []

    def _content(self, content: Any, parts: list[StreamPart]) -> None:
        if isinstance(content, str):
            parts += self._close_reasoning()
            parts.append(TextDelta(content))
            return
        for item in content if isinstance(content, list) else ():
            if not isinstance(item, dict):
                continue
            text = item.get("text")
            thinking = item.get("thinking")
            if isinstance(text, str) and text:
                parts.append(TextDelta(text))
            elif isinstance(thinking, list):
                texts = (t.get("text") for t in thinking if isinstance(t, dict))
                joined = "".join(t for t in texts if isinstance(t, str))
                parts.append(ThinkingDelta(joined))

    def _call(self, wire: _Call, parts: list[StreamPart]) -> None:
        call = self._find(wire)
        function = wire.function
        if wire.id and call.id is None:
            call.id = wire.id
        text = "" if function is None else arguments_text(function.arguments)
        if function is not None and function.name and not call.name:
            call.name = function.name
            parts.append(CallStart(call.index, call.name, call.id))
            text = "".join(call.held) + text
            call.held.clear()
        if not text:
            return
        if call.name:
            parts.append(CallDelta(call.index, text))
        else:
            call.held.append(text)

    def _find(self, wire: _Call) -> _OpenCall:
        """The call that a delta belongs to.

        Some servers give every parallel call the index 0 or none at all: another id begins another
        call, and a delta without either belongs to the last one.
        """
        known = self._by_index.get(wire.index) if wire.index is not None else None
        if known is None and wire.index is None and not wire.id and self._calls:
            known = self._calls[-1]
        new_id = bool(wire.id) and known is not None and known.id not in {None, wire.id}
        if known is not None and not new_id:
            return known
        if wire.id and wire.index is None:
            same = next((call for call in self._calls if call.id == wire.id), None)
            if same is not None:
                return same
        call = _OpenCall(len(self._calls))
        self._calls.append(call)
        if wire.index is not None:
            self._by_index[wire.index] = call
        return call


def _merge_detail(details: list[dict[str, Any]], new: dict[str, Any]) -> None:
    """Append to the last detail when it is the same one, going on; else begin another."""
    last = details[-1] if details else None
    if last is None or (last.get("type"), last.get("index")) != (new.get("type"), new.get("index")):
        details.append(dict(new))
        return
    for key, value in new.items():
        old = last.get(key)
        if key in {"text", "summary", "data"} and isinstance(old, str) and isinstance(value, str):
            last[key] = old + value
        elif value is not None:
            last[key] = value


def _usage(usage: _Usage) -> Usage:
    sent = usage.prompt_tokens_details or _Details()
    made = usage.completion_tokens_details or _Details()
    return Usage(
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_tokens=sent.cached_tokens or usage.prompt_cache_hit_tokens or 0,
        cache_write_tokens=sent.cache_write_tokens or 0,
        reasoning_tokens=made.reasoning_tokens or 0,
    )
