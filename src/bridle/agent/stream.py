"""Read a model's stream into one message, telling the bus as it comes.

A call becomes part of the message only when the stream has come to its end.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from bridle.errors import ModelError
from bridle.journal.redact import NOTHING_HIDDEN, Redactor
from bridle.ports.model import (
    Answer,
    CallDelta,
    CallStart,
    Finish,
    StreamPart,
    TextDelta,
    ThinkingDelta,
)
from bridle.types.base import Moving
from bridle.types.content import Part, Text, Thinking, ToolCall
from bridle.types.events import (
    AnyLiveEvent,
    MessageDelta,
    ToolInputDelta,
    ToolInputEnded,
    ToolInputStarted,
)
from bridle.types.ids import call_id
from bridle.types.messages import Message, StopReason

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bridle.journal.chunks import Chunks

_decode = msgspec.json.Decoder().decode

DEEPEST = 100
"""How deep arguments may be nested; far below what could not be read back from the log."""


class _Prose(Moving):
    """Text or thinking that grows chunk by chunk; joined once."""

    thinking: bool
    chunks: list[str] = msgspec.field(default_factory=list)
    private: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        return "".join(self.chunks)


class _Call(Moving):
    tool: str
    provider_id: str | None
    private: dict[str, Any] | None
    text: list[str] = msgspec.field(default_factory=list)


class Draft(Moving, kw_only=True):
    """A message while it is being written.

    `author` is the id of the model that writes it, which a resolver of the user's own may give for
    another one, `model`: only the author understands what is private in it.
    """

    thread_id: str
    run_id: str
    step: int
    message_id: str
    model: str
    author: str
    live: Callable[[AnyLiveEvent], None]
    redactor: Redactor = NOTHING_HIDDEN
    on_call: Callable[[ToolCall], None] | None = None
    parts: list[_Prose | _Call] = msgspec.field(default_factory=list)
    calls: dict[int, _Call] = msgspec.field(default_factory=dict)
    finish: Finish | None = None
    answer: Answer | None = None
    _showing: dict[str | int, Chunks] = msgspec.field(default_factory=dict)

    async def read(self, stream: AsyncIterator[StreamPart]) -> None:
        """Take in a whole stream; raises `ModelError` when it has no end."""
        async with aclosing(stream) as parts:  # type: ignore[type-var]
            async for part in parts:
                self._take(part)
        if self.finish is None and self.answer is None:
            raise ModelError("The stream broke off before the answer was complete.", kind="cut")

    def message(self) -> Message:
        """The complete message, after its end was seen; a refusal asks for nothing."""
        assert self.finish is not None
        if self.finish.stop == "refused":
            return self.cut("refused")
        parts: list[Part] = []
        calls = 0
        for part in self.parts:
            if isinstance(part, _Call):
                parts.append(self._call(part, calls))
                calls += 1
            elif part.thinking:
                origin = self.author.partition("/")[0]
                parts.append(Thinking(part.text, origin, part.private))
            else:
                parts.append(Text(part.text))
        stop: StopReason = self.finish.stop
        if stop == "end_turn" and self.calls:
            stop = "tool_use"
        message = Message(
            id=self.message_id, role="assistant", parts=tuple(parts), model=self.author, stop=stop
        )
        return self.redactor.value(message)

    def cut(self, stop: StopReason) -> Message:
        """What there is of a message that was cut: its text, and no calls."""
        parts = tuple(
            Text(part.text) for part in self.parts if isinstance(part, _Prose) and not part.thinking
        )
        message = Message(
            id=self.message_id, role="assistant", parts=parts, model=self.model, stop=stop
        )
        return self.redactor.value(message)

    @property
    def characters(self) -> int:
        """How much text was shown so far."""
        return sum(len(part.text) for part in self.parts if isinstance(part, _Prose))

    def _take(self, part: StreamPart) -> None:
        match part:
            case TextDelta(text=text):
                if text:
                    self._extend(text, thinking=False)
                    self._tell(text, "text")
            case ThinkingDelta(text=text, private=private):
                self._extend(text, thinking=True, private=private)
                if text:
                    self._tell(text, "thinking")
            case CallStart():
                self._start_call(part)
            case CallDelta(index=index, text=text):
                self._grow_call(index, text)
            case Finish():
                self.finish = part
                self._show_rest()
                for position in range(len(self.calls)):
                    self.live(
                        ToolInputEnded(
                            thread_id=self.thread_id,
                            run_id=self.run_id,
                            call_id=call_id(self.run_id, self.step, position),
                        )
                    )
            case Answer():
                self.answer = part
            case other:
                assert_never(other)

    def _extend(self, text: str, *, thinking: bool, private: dict[str, Any] | None = None) -> None:
        last = self.parts[-1] if self.parts else None
        if not isinstance(last, _Prose) or last.thinking != thinking or last.private is not None:
            last = _Prose(thinking)
            self.parts.append(last)
        last.chunks.append(text)
        last.private = private

    def _start_call(self, part: CallStart) -> None:
        if part.index in self.calls:
            raise ModelError(f"The stream began call {part.index} twice.", kind="protocol")
        self._tell_call()
        taken = {call.provider_id for call in self.calls.values()}
        own = None if part.provider_id in taken else part.provider_id  # a result names one call
        call = _Call(part.tool, own, part.private)
        position = len(self.calls)
        self.calls[part.index] = call
        self.parts.append(call)
        self.live(
            ToolInputStarted(
                thread_id=self.thread_id,
                run_id=self.run_id,
                call_id=call_id(self.run_id, self.step, position),
                tool=part.tool,
            )
        )

    def _tell_call(self) -> None:
        """Another call begins: the one before it is most likely complete."""
        if self.on_call is not None and self.calls:
            before = list(self.calls.values())[-1]
            self.on_call(self.redactor.value(self._call(before, len(self.calls) - 1)))

    def _grow_call(self, index: int, text: str) -> None:
        call = self.calls.get(index)
        if call is None:
            raise ModelError(
                f"The stream continued call {index} that it never began.", kind="protocol"
            )
        call.text.append(text)
        text = self._shown(index, text)
        if text:
            self._tell_input(index, text)

    def _tell_input(self, index: int, text: str) -> None:
        self.live(
            ToolInputDelta(
                thread_id=self.thread_id,
                run_id=self.run_id,
                call_id=call_id(self.run_id, self.step, list(self.calls).index(index)),
                delta=text,
            )
        )

    def _shown(self, what: str | int, text: str) -> str:
        """What of a text can be shown now; the beginning of a secret waits for its end."""
        if what not in self._showing:
            self._showing[what] = self.redactor.chunks()
        return self._showing[what].feed(text)

    def _show_rest(self) -> None:
        """Show what waited, because nothing follows it."""
        waited, self._showing = self._showing, {}
        for what, chunks in waited.items():
            text = chunks.flush()
            if text and isinstance(what, str):
                self._publish(text, what)
            elif text and isinstance(what, int):
                self._tell_input(what, text)

    def _tell(self, text: str, kind: str) -> None:
        if kind not in self._showing:  # another part begins: the one before it is complete
            self._show_rest()
        text = self._shown(kind, text)
        if text:
            self._publish(text, kind)

    def _publish(self, text: str, kind: str) -> None:
        self.live(
            MessageDelta(
                thread_id=self.thread_id,
                run_id=self.run_id,
                message_id=self.message_id,
                delta=text,
                kind=kind,
            )
        )

    def _call(self, call: _Call, index: int) -> ToolCall:
        text = "".join(call.text).strip()
        shown = self.redactor.text(text)[:200]
        args: dict[str, Any] = {}
        invalid: str | None = None
        if text:
            try:
                decoded = _decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                invalid = f"The arguments are not JSON ({error}): {shown}"
            else:
                if not isinstance(decoded, dict):
                    invalid = f"The arguments must be a JSON object, not {shown}"
                elif _deeper(text, decoded, DEEPEST):
                    invalid = f"The arguments are nested deeper than {DEEPEST}: {shown}"
                else:
                    args = decoded
        elif self._cut_off(call):
            invalid = "The answer reached its limit before the arguments were written."
        return ToolCall(
            id=call_id(self.run_id, self.step, index),
            tool=call.tool,
            args=args,
            provider_id=call.provider_id,
            invalid=invalid,
            private=call.private,
        )

    def _cut_off(self, call: _Call) -> bool:
        """Whether a call without arguments may only not have come to them."""
        limited = self.finish is not None and self.finish.stop == "max_tokens"
        return limited and call is self.parts[-1]


def _deeper(text: str, value: object, depth: int) -> bool:
    """Tell whether a value is nested deeper than that; most texts cannot be."""
    if text.count("{") + text.count("[") <= depth:
        return False
    level: list[object] = [value]
    for _ in range(depth):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
