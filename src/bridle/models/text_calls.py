"""A model whose tool calls are read from its text, or repaired, before anyone sees them.

`native`: tools are sent as such; calls that come back as text or with broken JSON are repaired.
`strict-json` and `prompt`: tools are told in the prompt and calls are read from the answer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

import msgspec

from bridle.models import loose_json
from bridle.models.loose_json import Unreadable
from bridle.models.printed_calls import find_calls
from bridle.models.text_tools import Renderer, ToolCallFormat
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

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bridle.ports.model import Model, ModelRequest
    from bridle.types.ledger import Price
    from bridle.types.tools import ToolSpec

_WHOLE = ("end_turn", "stop_sequence", "tool_use")
"""How an answer ends that is complete; a call from any other could be half a call."""

_LONGEST = 24
_FENCE = re.compile(r"```[ \t]*(?P<info>[\w+-]*)[ \t]*\n.*?\n?[ \t]*```[ \t]*\n?", re.DOTALL)
_CALL_FENCES = ("", "json", "json5", "jsonc", "text", "python", "py", "xml")


@lru_cache(maxsize=16)
def _opening(names: tuple[str, ...]) -> re.Pattern[str]:
    """Where a printed call may begin: from here on the text is held until it is understood."""
    tools = "|".join(map(re.escape, names))
    return re.compile(
        r"<\|?(?:tool|function|action|plugin|python_tag|start_function|channel|start\|)"
        r"|<[|｜]|<[\w:]*(?:invoke|tool_call|function_call)|\[/?TOOL_|\[Calling|functools\["
        r"|```|to=functions|^[ \t]*[\[{]|^>>>|^[ \t]*(?:Action|Tool|Function):"
        rf"|<(?:{tools})>|^[ \t]*(?:{tools})\b",
        re.MULTILINE | re.IGNORECASE,
    )


class Repairs(Moving):
    """How calls came: as the provider's own, or repaired, by shape; `torn` could not be."""

    native: int = 0
    repaired: dict[str, int] = msgspec.field(default_factory=dict)
    torn: int = 0

    def note(self, shape: str, count: int = 1) -> None:
        """Count repaired calls of a shape."""
        self.repaired[shape] = self.repaired.get(shape, 0) + count


class TextCalls:
    """Wraps a model; see the module. `repairs` counts what was done."""

    def __init__(self, model: Model, format: ToolCallFormat = "native") -> None:
        self.model = model
        self.format = format
        self.repairs = Repairs()
        self._renderer = None if format == "native" else Renderer(format)

    @property
    def id(self) -> str:
        """The id of the wrapped model."""
        return self.model.id

    @property
    def context_window(self) -> int | None:
        """The window of the wrapped model."""
        return self.model.context_window

    @property
    def price(self) -> Price | None:
        """The price of the wrapped model."""
        return self.model.price

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer; text is passed on as soon as it cannot be part of a call."""
        sent = request if self._renderer is None else self._renderer.render(request)
        reading = _Reading(request.tools) if request.tools else None
        parts = self.model.stream(sent)
        try:
            async for part in parts:
                if reading is None:
                    yield part
                else:
                    for ready in self._next(part, reading):
                        yield ready
            if reading is not None and (rest := reading.text.take()):
                yield TextDelta(rest)
        finally:
            close = getattr(parts, "aclose", None)
            if close is not None:
                await close()

    def _next(self, part: StreamPart, reading: _Reading) -> Iterator[StreamPart]:
        match part:
            case TextDelta():
                if ready := reading.text.add(part.text):
                    yield TextDelta(ready)
            case ThinkingDelta() | Answer():
                yield part
            case CallStart():
                reading.arguments.setdefault(part.index, [])
                yield part
            case CallDelta():
                reading.arguments.setdefault(part.index, []).append(part.text)
            case Finish():
                yield from self._end(part, reading)
            case other:
                assert_never(other)

    def _end(self, finish: Finish, reading: _Reading) -> Iterator[StreamPart]:
        for index, pieces in reading.arguments.items():
            self.repairs.native += 1
            yield CallDelta(index, self._arguments("".join(pieces)))
        printed = None
        if not reading.arguments and finish.stop in _WHOLE:
            printed = find_calls(reading.text.all, reading.tools)
        if printed is None:
            if rest := reading.text.take():
                yield TextDelta(rest)
            yield finish
            return
        if before := reading.text.take(printed.start).rstrip():
            yield TextDelta(before)
        if printed.after:
            yield TextDelta("\n" + printed.after)
        for index, call in enumerate(printed.calls):
            self.repairs.torn += call.torn
            yield CallStart(index, call.tool)
            yield CallDelta(index, call.arguments)
        self.repairs.note(printed.shape, len(printed.calls))
        yield msgspec.structs.replace(finish, stop="tool_use")

    def _arguments(self, text: str) -> str:
        """The JSON of a native call, repaired if it can be; else as it came, to be refused."""
        if not text.strip():
            return text
        try:
            msgspec.json.decode(text)
        except msgspec.DecodeError:
            try:
                value = loose_json.loads(text)
            except Unreadable:
                self.repairs.torn += 1
                return text
            if not isinstance(value, dict):
                return text
            self.repairs.note("broken arguments")
            return msgspec.json.encode(value).decode()
        return text


class _Text:
    """The text of an answer. What may still become a call is held; the rest is let go at once."""

    def __init__(self, tools: tuple[ToolSpec, ...]) -> None:
        self.all = ""
        self._names = tuple(tool.name.lower() for tool in tools)
        self._opening = _opening(self._names)
        self._longest = max(_LONGEST, *(len(name) + 2 for name in self._names))
        self._sent = 0

    def add(self, text: str) -> str:
        """Take more text; give back what is certainly not a call."""
        self.all += text
        start = self._sent
        while (ready := self._ready()) > self._sent:
            self._sent = ready
        return self.all[start : self._sent]

    def take(self, end: int | None = None) -> str:
        """Let go what is held, up to a place."""
        start, self._sent = self._sent, len(self.all)
        return self.all[start:end]

    def _ready(self) -> int:
        """Up to where the text can go."""
        opening = self._opening.search(self.all, self._sent)
        if opening is None:
            return self._safe()
        return opening.start() if opening.start() > self._sent else self._plain_fence()

    def _safe(self) -> int:
        """Up to where no mark can have begun."""
        floor = max(self._sent, len(self.all) - self._longest)
        if floor == 0:
            return 0
        begins = [at for mark in "<[`>\nft" if (at := self.all.find(mark, floor)) >= 0]
        return min(begins) if begins else len(self.all)

    def _plain_fence(self) -> int:
        """Past a fence that is closed and cannot be a call: code for the reader."""
        fence = _FENCE.match(self.all, self._sent)
        if fence is None:
            return self._sent
        block = fence.group().lower()
        may_call = fence["info"].lower() in _CALL_FENCES or fence["info"].startswith("tool")
        held = may_call and any(name in block for name in self._names)
        return self._sent if held else fence.end()


class _Reading:
    """An answer that is being read."""

    def __init__(self, tools: tuple[ToolSpec, ...]) -> None:
        self.tools = tools
        self.text = _Text(tools)
        self.arguments: dict[int, list[str]] = {}
