"""The event stream of Anthropic Messages, as parts."""

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

_STOPS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "pause_turn": "paused",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refused",
}


class _Block(msgspec.Struct):
    type: str = ""
    id: str | None = None
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    input: Any = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Details(msgspec.Struct):
    thinking_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _Details | None = None


class _Message(msgspec.Struct):
    model: str | None = None
    usage: _Usage | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int | None = None
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: Any = None


_EVENT = msgspec.json.Decoder(_Event, strict=False)


class _OpenBlock:
    """A content block that is being written."""

    __slots__ = ("call", "given", "kind", "signature")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.call = -1
        self.given: str | None = None
        self.signature = ""


class AnthropicDecoder:
    """Reads one answer; `message_stop` is its end."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.done = False
        self._endpoint = endpoint
        self._open: dict[int, _OpenBlock] = {}
        self._calls = 0
        self._stop: str | None = None
        self._usage = _Usage()
        self._told = False
        self._model: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the final event came."""
        return self.done

    def feed(self, event: SseEvent) -> list[StreamPart]:
        """Take one event; those that are not known are passed over."""
        if not event.data:
            return []
        wire = decode(event.data, _EVENT, self._endpoint.provider)
        match wire.type or event.name:
            case "content_block_delta":
                return self._delta(wire)
            case "content_block_start":
                return self._start(wire)
            case "content_block_stop":
                return self._close(wire)
            case "message_start":
                if wire.message is not None:
                    self._model = wire.message.model
                    self._count(wire.message.usage)
            case "message_delta":
                self._count(wire.usage)
                if wire.delta is not None and wire.delta.stop_reason:
                    self._stop = wire.delta.stop_reason
            case "message_stop":
                self.done = True
            case "error":
                raise provider_error(
                    complaint_of({"error": wire.error}),
                    provider=self._endpoint.provider,
                    secrets=self._endpoint.secrets,
                )
            case _:
                pass
        return []

    def finish(self) -> Finish:
        """End the answer. Raises ModelError: `cut` without message_stop, `protocol` when it left a
        call open or gave no reason.
        """
        if not self.done:
            raise ModelError(
                f"The stream of {self._endpoint.provider} ended before the answer did", kind="cut"
            )
        if self._stop is None:
            raise self._broken("ended the answer without a reason")
        if any(block.call >= 0 for block in self._open.values()):
            raise self._broken("left a tool call open")
        stop = _STOPS.get(self._stop, "end_turn")
        if stop == "end_turn" and self._calls:
            stop = "tool_use"
        return Finish(
            stop=stop, usage=_usage(self._usage) if self._told else None, model=self._model
        )

    def _start(self, wire: _Event) -> list[StreamPart]:
        block = wire.content_block
        if block is None or wire.index is None:
            return []
        if wire.index in self._open:
            raise self._broken("began the same block twice")
        now = _OpenBlock(block.type)
        self._open[wire.index] = now
        match block.type:
            case "text":
                return [TextDelta(block.text)] if block.text else []
            case "thinking":
                now.signature = block.signature or ""
                return [ThinkingDelta(block.thinking)] if block.thinking else []
            case "redacted_thinking":
                return [ThinkingDelta("", {"redacted": block.data})] if block.data else []
            case "tool_use":
                if not block.name:
                    raise self._broken("sent a tool call without a name")
                now.call = self._calls
                self._calls += 1
                if isinstance(block.input, dict) and block.input:
                    now.given = encode(block.input).decode()
                return [CallStart(now.call, block.name, block.id)]
            case _:
                return []

    def _delta(self, wire: _Event) -> list[StreamPart]:
        delta = wire.delta
        if delta is None or wire.index is None:
            return []
        block = self._open.get(wire.index)
        if block is None:
            raise self._broken("went on with a block that is not open")
        match delta.type:
            case "text_delta" if block.kind == "text":
                return [TextDelta(delta.text)] if delta.text else []
            case "thinking_delta" if block.kind == "thinking":
                return [ThinkingDelta(delta.thinking)] if delta.thinking else []
            case "signature_delta":
                block.signature += delta.signature or ""
            case "input_json_delta" if block.call >= 0 and delta.partial_json:
                block.given = None
                return [CallDelta(block.call, delta.partial_json)]
            case _:
                pass
        return []

    def _close(self, wire: _Event) -> list[StreamPart]:
        block = self._open.pop(wire.index, None) if wire.index is not None else None
        if block is None:
            return []
        if block.kind == "thinking" and block.signature:
            return [ThinkingDelta("", {"signature": block.signature})]
        if block.call >= 0 and block.given is not None:
            return [CallDelta(block.call, block.given)]
        return []

    def _count(self, usage: _Usage | None) -> None:
        """Take the counts of an event; they are totals, and what it leaves out stays."""
        if usage is None:
            return
        self._told = True
        for name in usage.__struct_fields__:
            value = getattr(usage, name)
            if value is not None:
                setattr(self._usage, name, value)

    def _broken(self, what: str) -> ModelError:
        return ModelError(f"{self._endpoint.provider} {what}", kind="protocol")


def _usage(usage: _Usage) -> Usage:
    read = usage.cache_read_input_tokens or 0
    written = usage.cache_creation_input_tokens or 0
    details = usage.output_tokens_details or _Details()
    return Usage(
        input_tokens=(usage.input_tokens or 0) + read + written,
        output_tokens=usage.output_tokens or 0,
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=details.thinking_tokens or 0,
    )
