"""Folding a stream of parts into the parts of a message, as the engine does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from bridle.ports.model import (
    CallDelta,
    CallStart,
    Finish,
    ModelRequest,
    StreamPart,
    TextDelta,
    ThinkingDelta,
)
from bridle.types.content import Part, Text, Thinking, ToolCall
from bridle.types.messages import Message


@dataclass
class Answer:
    """What a stream said."""

    parts: list[StreamPart] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, TextDelta))

    @property
    def thinking(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, ThinkingDelta))

    @property
    def calls(self) -> list[tuple[str, str]]:
        texts: dict[int, list[str]] = {}
        names: dict[int, str] = {}
        for part in self.parts:
            if isinstance(part, CallStart):
                assert part.index not in names
                names[part.index] = part.tool
                texts[part.index] = []
            elif isinstance(part, CallDelta):
                texts[part.index].append(part.text)
        return [(names[i], "".join(texts[i])) for i in names]

    @property
    def finish(self) -> Finish:
        finishes = [p for p in self.parts if isinstance(p, Finish)]
        assert len(finishes) == 1
        assert self.parts[-1] is finishes[0]
        return finishes[0]

    def message(self, message_id: str, model: str) -> Message:
        """The assistant's message; a thinking part ends with the delta that has `private`."""
        parts: list[Part] = []
        open_thinking = False
        starts: dict[int, CallStart] = {}
        texts = dict(enumerate(text for _, text in self.calls))
        for part in self.parts:
            last = parts[-1] if parts else None
            match part:
                case TextDelta(text=text) if isinstance(last, Text):
                    parts[-1] = Text(last.text + text)
                case TextDelta(text=text):
                    parts.append(Text(text))
                case ThinkingDelta(text=text, private=private):
                    if isinstance(last, Thinking) and open_thinking:
                        parts[-1] = Thinking(last.text + text, model, private)
                    else:
                        parts.append(Thinking(text, model, private))
                    open_thinking = private is None
                case CallStart():
                    starts[part.index] = part
                    parts.append(
                        ToolCall(
                            f"{message_id}.{part.index}",
                            part.tool,
                            json.loads(texts[part.index] or "{}"),
                            part.provider_id,
                            private=part.private,
                        )
                    )
        return Message(id=message_id, role="assistant", parts=tuple(parts), model=model)


async def collect(model: Any, request: ModelRequest) -> Answer:
    """Run a request to its end."""
    answer = Answer()
    stream: AsyncIterator[StreamPart] = model.stream(request)
    async for part in stream:
        answer.parts.append(part)
    return answer
