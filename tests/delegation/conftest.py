"""A harness over models that play one part each; every thread is replayed when it closes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bridle import Agent, Harness, Rules
from bridle.testing import ScriptedModel
from support.replaying import open_harness


class Cast:
    """Answers by the instructions of the request and its number in the run.

    A part is a list of items, or a function of the request. Stateless: the same after a kill.
    """

    price = None
    context_window = None

    def __init__(self, id: str = "test/cast", **parts: Any) -> None:
        self.id = id
        self.parts = parts
        self.requests: list[Any] = []

    def stream(self, request: Any) -> Any:
        part = self.parts[request.system]
        item = part(request) if callable(part) else part[request.step - 1]
        playing = ScriptedModel([item], id=self.id)
        answer = playing.stream(request)
        self.requests += playing.requests
        return answer

    def sent(self, system: str) -> list[Any]:
        return [request for request in self.requests if request.system == system]


@pytest.fixture
def opened() -> Callable[..., Any]:
    def opening(playing: Any, **options: Any) -> Any:
        options.setdefault("resolve_model", lambda _id: playing)
        options.setdefault("permissions", Rules(profile="yolo"))
        if "modes" not in options:
            options.setdefault("agent", Agent("main", tools=options.pop("agent_tools", ())))
            options.setdefault("model", "test/cast")
        return open_harness(**options)

    return opening


async def log_of(harness: Harness, thread_id: str) -> list[Any]:
    return await harness.store.events(thread_id)


def results(events: list[Any]) -> list[Any]:
    return [event for event in events if event.type == "tool_end"]
