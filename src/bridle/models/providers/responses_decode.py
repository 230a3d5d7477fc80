"""The event stream of OpenAI Responses, as parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ModelError
from bridle.models.errors import complaint_of, provider_error
from bridle.models.wire import decode
from bridle.ports.model import CallDelta, CallStart, Finish, StreamPart, TextDelta, ThinkingDelta
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.models.providers.endpoint import Endpoint
    from bridle.models.sse import SseEvent
    from bridle.types.messages import StopReason


class _Summary(msgspec.Struct):
    text: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    encrypted_content: str | None = None
    summary: list[_Summary] | None = None
    phase: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    status: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    error: Any = None
    incomplete_details: _Incomplete | None = None


class _Event(msgspec.Struct):
    type: str = ""
    delta: Any = None
    item_id: str | None = None
    output_index: int | None = None
    summary_index: int | None = None
    arguments: str | None = None
    item: _Item | None = None
    response: _Response | None = None
    error: Any = None
    message: str | None = None
    code: Any = None


_EVENT = msgspec.json.Decoder(_Event, strict=False)


class _OpenCall:
    """A call that is being written, with its arguments so far."""

    __slots__ = ("index", "received", "whole")

    def __init__(self, index: int) -> None:
        self.index = index
        self.received: list[str] = []
        self.whole = False


class ResponsesDecoder:
    """Reads one answer; `response.completed` or `response.incomplete` is its end."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._finish: Finish | None = None
        self._refused = False
        self._calls: dict[str, _OpenCall] = {}
        self._thought: set[str] = set()

    @property
    def done(self) -> bool:
        """Whether the final event came."""
        return self._finish is not None

    ended = done

    def feed(self, event: SseEvent) -> list[StreamPart]:
        """Take one event; those that are not known are passed over."""
        if not event.data or event.data == "[DONE]":
            return []
        wire = decode(event.data, _EVENT, self._endpoint.provider)
        match wire.type or event.name:
            case "response.output_text.delta":
                return [TextDelta(wire.delta)] if isinstance(wire.delta, str) else []
            case "response.refusal.delta":
                self._refused = True
                return [TextDelta(wire.delta)] if isinstance(wire.delta, str) else []
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._thinking(wire)
            case "response.reasoning_summary_part.added":
                return [ThinkingDelta("\n\n")] if wire.summary_index else []
            case "response.function_call_arguments.delta":
                return self._arguments(self._call(wire), wire.delta)
            case "response.function_call_arguments.done":
                return self._whole(self._call(wire), wire.arguments)
            case "response.output_item.added":
                return self._added(wire)
            case "response.output_item.done":
                return self._item_done(wire)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(wire)
            case "error":
                raise self._error(wire)
            case _:
                pass
        return []

    def finish(self) -> Finish:
        """End the answer. Raises ModelError: `cut` without its final event, `protocol` when a
        call was left open.
        """
        if self._finish is None:
            raise ModelError(
                f"The stream of {self._endpoint.provider} ended before the answer did", kind="cut"
            )
        whole = all(call.whole for call in self._calls.values())
        if not whole and self._finish.stop == "tool_use":
            raise self._broken("left a tool call open")
        return self._finish

    def _thinking(self, wire: _Event) -> list[StreamPart]:
        self._thought.add(_key(wire))
        return [ThinkingDelta(wire.delta)] if isinstance(wire.delta, str) and wire.delta else []

    def _added(self, wire: _Event) -> list[StreamPart]:
        item = wire.item
        if item is None:
            return []
        if item.type == "message" and item.phase:
            return [ThinkingDelta("", {"phase": item.phase})]
        if item.type != "function_call":
            return []
        key = _key(wire)
        if key in self._calls:
            raise self._broken("began the same tool call twice")
        if not item.name:
            raise self._broken("sent a tool call without a name")
        call = _OpenCall(len(self._calls))
        self._calls[key] = call
        parts: list[StreamPart] = [CallStart(call.index, item.name, item.call_id)]
        return parts + self._arguments(call, item.arguments)

    def _item_done(self, wire: _Event) -> list[StreamPart]:
        item = wire.item
        if item is None:
            return []
        if item.type == "reasoning":
            parts: list[StreamPart] = []
            if _key(wire) not in self._thought:
                text = "\n\n".join(part.text or "" for part in item.summary or ())
                parts = [ThinkingDelta(text)] if text else []
            if item.encrypted_content:
                parts.append(ThinkingDelta("", {"encrypted_content": item.encrypted_content}))
            return parts
        if item.type != "function_call":
            return []
        begun = [] if _key(wire) in self._calls else self._added(wire)
        return begun + self._whole(self._call(wire), item.arguments)

    def _call(self, wire: _Event) -> _OpenCall:
        call = self._calls.get(_key(wire))
        if call is None:
            raise self._broken("sent arguments for a tool call that was not begun")
        return call

    def _arguments(self, call: _OpenCall, text: Any) -> list[StreamPart]:
        if not isinstance(text, str) or not text:
            return []
        if call.whole:
            raise self._broken("went on with a tool call after its end")
        call.received.append(text)
        return [CallDelta(call.index, text)]

    def _whole(self, call: _OpenCall, text: str | None) -> list[StreamPart]:
        """The arguments are complete: what came in pieces must be the same."""
        received = "".join(call.received)
        parts: list[StreamPart] = []
        if text is not None and text != received:
            if call.whole or not text.startswith(received):
                raise self._broken("sent arguments that differ from their pieces")
            parts = self._arguments(call, text[len(received) :])
        call.whole = True
        return parts

    def _end(self, wire: _Event) -> None:
        response = wire.response or _Response()
        if response.error is not None or wire.type == "response.failed":
            raise self._error(wire)
        stop: StopReason = "tool_use" if self._calls else "end_turn"
        if wire.type == "response.incomplete":
            details = response.incomplete_details
            stop = _incomplete(details.reason if details else None)
        if self._refused:
            stop = "refused"
        usage = None if response.usage is None else _usage(response.usage)
        self._finish = Finish(stop=stop, usage=usage, model=response.model)

    def _error(self, wire: _Event) -> ModelError:
        inner = wire.response.error if wire.response is not None else wire.error
        if inner is None:
            inner = {"message": wire.message, "code": wire.code}
        return provider_error(
            complaint_of({"error": inner}),
            provider=self._endpoint.provider,
            secrets=self._endpoint.secrets,
        )

    def _broken(self, what: str) -> ModelError:
        return ModelError(f"{self._endpoint.provider} {what}", kind="protocol")


def _key(wire: _Event) -> str:
    """What ties the events of one item together."""
    if wire.output_index is not None:
        return f"#{wire.output_index}"
    return wire.item_id or (wire.item.id if wire.item is not None else None) or "#"


def _incomplete(reason: str | None) -> StopReason:
    match reason:
        case "max_output_tokens":
            return "max_tokens"
        case "content_filter":
            return "refused"
        case _:
            return "end_turn"


def _usage(usage: _Usage) -> Usage:
    sent = usage.input_tokens_details or _Details()
    made = usage.output_tokens_details or _Details()
    return Usage(
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cached_tokens=sent.cached_tokens or 0,
        cache_write_tokens=sent.cache_write_tokens or 0,
        reasoning_tokens=made.reasoning_tokens or 0,
    )
