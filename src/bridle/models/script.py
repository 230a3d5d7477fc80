"""What a scripted answer is made of, and how it is played as a stream.

An item of a script is one element or a list of them: text, thinking and calls in order, and faults
where they should happen. A list of calls is a parallel batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, assert_never

import msgspec

from bridle.errors import ModelError, ModelErrorKind
from bridle.ports.model import (
    CallDelta,
    CallStart,
    Finish,
    ModelRequest,
    StreamPart,
    TextDelta,
    ThinkingDelta,
)
from bridle.types.content import Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message, StopReason
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bridle.ports.clock import Clock

CHUNK = 16
"""Characters of a text delta, unless `slow` says otherwise."""

CHARS_PER_TOKEN = 4


class Say(msgspec.Struct, frozen=True, kw_only=True):
    """Text of the answer; `usage` and `stop` hold for the whole answer."""

    text: str
    usage: Usage | None = None
    stop: StopReason | None = None


class Think(msgspec.Struct, frozen=True):
    """Reasoning; `private` is sent with its last delta."""

    text: str
    private: dict[str, Any] | None = None


class Call(msgspec.Struct, frozen=True):
    """A tool call; `arguments` is the JSON text that is streamed, valid or not."""

    tool: str
    arguments: str


class Report(msgspec.Struct, frozen=True):
    """The usage that the answer reports."""

    usage: Usage


class Fail(msgspec.Struct, frozen=True, kw_only=True):
    """The provider fails here."""

    kind: ModelErrorKind
    status: int | None = None
    retry_after: float | None = None
    message: str | None = None


class Stall(msgspec.Struct, frozen=True):
    """Nothing comes for a while, here; alone in its item it ends as a timeout."""

    seconds: float


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """The stream breaks after so many parts: with the error, or silently without a `Finish`."""

    after_parts: int
    how: Literal["error", "silent"] = "error"


class Slow(msgspec.Struct, frozen=True, kw_only=True):
    """Texts come in so many chunks, with a delay before each."""

    chunks: int
    delay: float


Element = Say | Think | Call | Report | Fail | Stall | Cut | Slow
Item = Element | Sequence[Element] | Callable[[ModelRequest], Element | Sequence[Element]]
"""One answer; a function is asked with the request when its turn comes."""


def says(text: str, *, usage: Usage | None = None, stop: StopReason | None = None) -> Say:
    """Answer with text."""
    return Say(text=text, usage=usage, stop=stop)


def thinks(text: str, *, private: dict[str, Any] | None = None) -> Think:
    """Reason before the rest of the answer."""
    return Think(text, private)


def calls(tool: str, /, **args: Any) -> Call:
    """Call a tool with these arguments."""
    return Call(tool, msgspec.json.encode(args).decode())


def uses(input_tokens: int = 0, output_tokens: int = 0, **more: int) -> Report:
    """Report this usage for the answer; `more` are the other fields of `Usage`."""
    return Report(Usage(input_tokens=input_tokens, output_tokens=output_tokens, **more))


def fails(
    how: int | ModelErrorKind,
    *,
    retry_after: float | None = None,
    message: str | None = None,
) -> Fail:
    """Fail as a provider would, by HTTP status or by kind."""
    if isinstance(how, int):
        kind = kind_of_status(how)
        return Fail(kind=kind, status=how, retry_after=retry_after, message=message)
    if how not in KINDS:
        raise ValueError(f"Unknown failure {how!r}; have {', '.join(KINDS)} or an HTTP status.")
    return Fail(kind=how, retry_after=retry_after, message=message)


def stalls(seconds: float) -> Stall:
    """Say nothing for so long."""
    return Stall(seconds)


def cuts(after_parts: int, *, how: Literal["error", "silent"] = "error") -> Cut:
    """Break the stream after so many parts."""
    return Cut(after_parts=after_parts, how=how)


def slow(chunks: int, delay: float) -> Slow:
    """Stream texts in so many chunks, `delay` seconds apart."""
    return Slow(chunks=max(1, chunks), delay=delay)


def malformed(arguments: str, *, tool: str = "bash") -> Call:
    """Call a tool with argument text that is sent as it is, whether it is JSON or not."""
    return Call(tool, arguments)


KINDS: tuple[ModelErrorKind, ...] = ModelErrorKind.__args__  # type: ignore[attr-defined]


def kind_of_status(status: int) -> ModelErrorKind:
    """The kind of failure that an HTTP status means."""
    if status in (401, 403):
        return "authentication"
    if status == 408:
        return "timeout"
    if status == 429:
        return "rate_limit"
    return "unavailable" if status >= 500 else "bad_request"


def elements(item: Item, request: ModelRequest) -> Sequence[Element]:
    """What an item is made of, for this request."""
    if callable(item):
        item = item(request)
    return item if isinstance(item, Sequence) else (item,)


async def play(
    item: Sequence[Element],
    request: ModelRequest,
    *,
    model: str,
    clock: Clock,
    usage: Usage | None = None,
) -> AsyncIterator[StreamPart]:
    """Stream one answer: its elements in order, then its `Finish`, unless a fault comes first."""
    cut = next((e for e in item if isinstance(e, Cut)), None)
    sent = 0
    for beat in _beats(item, request.step):
        if isinstance(beat, Stall):
            await clock.sleep(beat.seconds)
            continue
        if cut is not None and sent >= cut.after_parts:
            break
        if isinstance(beat, ModelError):
            raise beat
        yield beat
        sent += 1
    if cut is None:
        yield Finish(stop=_stop(item), usage=usage or _usage(item, request), model=model)
    elif cut.how == "error":
        message = f"the stream was cut after {sent} parts (scripted)"
        raise ModelError(message, kind="cut", provider="scripted")


Beat = TextDelta | ThinkingDelta | CallStart | CallDelta | Stall | ModelError
"""What happens next in a played answer: a part, a wait, or the end by an error."""


def _beats(item: Sequence[Element], step: int) -> Iterator[Beat]:
    pace = next((e for e in item if isinstance(e, Slow)), None)
    index = 0
    for element in item:
        match element:
            case Say() | Think():
                yield from _deltas(element, pace)
            case Call():
                yield CallStart(index, element.tool, provider_id=f"scripted_{step}_{index}")
                for piece in _split(element.arguments, 2):
                    yield CallDelta(index, piece)
                index += 1
            case Stall():
                yield element
                if len(item) == 1:
                    message = f"the model said nothing for {element.seconds:g} s (scripted)"
                    yield ModelError(message, kind="timeout", provider="scripted")
            case Fail():
                yield _error(element)
            case Report() | Cut() | Slow():
                pass
            case other:
                assert_never(other)


def _deltas(element: Say | Think, pace: Slow | None) -> Iterator[Beat]:
    text = element.text
    count = pace.chunks if pace else max(2, math.ceil(len(text) / CHUNK))
    pieces = list(_split(text, count)) or [""]
    for at, piece in enumerate(pieces, start=1):
        if pace:
            yield Stall(pace.delay)
        if isinstance(element, Think):
            yield ThinkingDelta(piece, element.private if at == len(pieces) else None)
        elif piece:
            yield TextDelta(piece)


def _split(text: str, count: int) -> Iterator[str]:
    size = max(1, math.ceil(len(text) / count))
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _error(fail: Fail) -> ModelError:
    what = f"HTTP {fail.status}" if fail.status is not None else fail.kind
    return ModelError(
        fail.message or f"scripted failure: {what}",
        kind=fail.kind,
        status=fail.status,
        retry_after=fail.retry_after,
        provider="scripted",
    )


def _stop(item: Sequence[Element]) -> StopReason:
    for element in item:
        if isinstance(element, Say) and element.stop is not None:
            return element.stop
    return "tool_use" if any(isinstance(e, Call) for e in item) else "end_turn"


def _usage(item: Sequence[Element], request: ModelRequest) -> Usage:
    for element in item:
        if isinstance(element, Report):
            return element.usage
        if isinstance(element, Say) and element.usage is not None:
            return element.usage
    answer = sum(
        len(e.arguments if isinstance(e, Call) else e.text)
        for e in item
        if isinstance(e, Say | Think | Call)
    )
    return Usage(
        input_tokens=_tokens(len(request.system) + sum(map(_length, request.messages))),
        output_tokens=_tokens(answer),
    )


def _length(message: Message) -> int:
    return sum(
        len(part.text)
        if isinstance(part, Text | Thinking | ToolResult)
        else len(str(part.args))
        if isinstance(part, ToolCall)
        else CHARS_PER_TOKEN
        for part in message.parts
    )


def _tokens(chars: int) -> int:
    return math.ceil(chars / CHARS_PER_TOKEN)
