"""A harness over models that play one part each; every thread is replayed when it closes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridle import Agent, Harness, Rules
from bridle.runs.replay.driver import replay_thread
from bridle.testing import ScriptedModel


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
    @asynccontextmanager
    async def open_harness(playing: Any, **options: Any) -> AsyncIterator[Harness]:
        options.setdefault("store", "memory:")
        options.setdefault("resolve_model", lambda _id: playing)
        options.setdefault("permissions", Rules(profile="yolo"))
        if "modes" not in options:
            options.setdefault("agent", Agent("main", tools=options.pop("agent_tools", ())))
            options.setdefault("model", "test/cast")
        async with Harness(id="test", **options) as harness:
            yield harness
            for thread in await harness.store.threads(hidden=True):
                replayed = await replay_thread(harness.store, thread.id)
                assert replayed.equal, _why(replayed)

    return open_harness


def _why(replayed: Any) -> list[Any]:
    own = [f"{replayed.thread_id}: {replayed.divergence}"] if replayed.divergence else []
    return [*own, *(why for child in replayed.children for why in _why(child))]


async def log_of(harness: Harness, thread_id: str) -> list[Any]:
    return await harness.store.events(thread_id)


def results(events: list[Any]) -> list[Any]:
    return [event for event in events if event.type == "tool_end"]
