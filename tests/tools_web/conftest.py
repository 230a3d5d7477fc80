from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridle import Agent, Harness
from bridle.runs.replay.driver import replay_thread
from bridle.testing import ScriptedModel
from support.hostile import HostileServer


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as hostile:
        yield hostile


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def opened(model: ScriptedModel) -> Callable[..., Any]:
    """Open a harness over a scripted model; every thread must replay when it closes."""

    @asynccontextmanager
    async def open_harness(*tools: Any, **options: Any) -> AsyncIterator[Harness]:
        options.setdefault("store", "memory:")
        options.setdefault("resolve_model", lambda _id: model)
        options.setdefault("agent", Agent("You help.", tools=tools))
        async with Harness(id="test", **options) as harness:
            yield harness
            for thread in await harness.store.threads(hidden=True):
                replayed = await replay_thread(harness.store, thread.id)
                assert replayed.equal, replayed.divergence

    return open_harness
