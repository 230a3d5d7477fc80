"""Shared by the tests of models: a request, what a stream says, a clock that only counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from bridle.ports.model import (
    CallDelta,
    CallStart,
    Finish,
    Model,
    ModelRequest,
    ModelSettings,
    StreamPart,
    TextDelta,
    ThinkingDelta,
)
from bridle.types.messages import Message, user_message
from bridle.types.tools import ToolSpec


def request(
    text: str = "hello",
    *,
    messages: list[Message] | None = None,
    tools: tuple[ToolSpec, ...] = (),
    system: str = "Be brief.",
    step: int = 1,
    settings: ModelSettings | None = None,
) -> ModelRequest:
    return ModelRequest(
        system=system,
        messages=messages if messages is not None else [user_message("m1", text)],
        tools=tools,
        step=step,
        settings=settings or ModelSettings(),
    )


async def collect(model: Model, req: ModelRequest, into: list[Any] | None = None) -> list[Any]:
    """Read a stream to its end; `into` keeps what came before an error."""
    parts: list[Any] = into if into is not None else []
    async for part in model.stream(req):
        parts.append(part)
    return parts


@dataclass
class Answer:
    """A stream, read to its end."""

    text: str = ""
    thinking: str = ""
    raw_calls: list[tuple[str, str]] = field(default_factory=list)
    finish: Finish | None = None

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(tool, msgspec.json.decode(args or "{}")) for tool, args in self.raw_calls]


async def answer(model: Model, req: ModelRequest) -> Answer:
    got = Answer()
    part: StreamPart
    async for part in model.stream(req):
        match part:
            case TextDelta():
                got.text += part.text
            case ThinkingDelta():
                got.thinking += part.text
            case CallStart():
                assert part.index == len(got.raw_calls)
                got.raw_calls.append((part.tool, ""))
            case CallDelta():
                tool, args = got.raw_calls[part.index]
                got.raw_calls[part.index] = (tool, args + part.text)
            case Finish():
                assert got.finish is None
                got.finish = part
    return got


class Sleeps:
    """A clock whose sleeps return at once and are counted."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
