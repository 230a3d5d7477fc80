"""A harness over a scripted model; every thread must replay when it closes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from bridle import Agent, Harness
from bridle.runs.replay.driver import Replayed, replay_thread
from bridle.testing import ScriptedModel


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def opened(model: ScriptedModel) -> Callable[..., Any]:
    """Open a harness over the scripted model."""
    return partial(open_harness, resolve_model=lambda _id: model)


@asynccontextmanager
async def open_harness(**options: Any) -> AsyncIterator[Harness]:
    options.setdefault("store", "memory:")
    if "modes" not in options:
        options.setdefault("agent", Agent("You help."))
    async with Harness(id="test", **options) as harness:
        yield harness
        await check_replays(harness)


async def check_replays(harness: Harness) -> None:
    for thread in await harness.store.threads(hidden=True):
        replayed = await replay_thread(harness.store, thread.id)
        assert replayed.equal, _why(replayed)


def _why(replayed: Replayed) -> list[str]:
    own = [f"{replayed.thread_id}: {replayed.divergence}"] if replayed.divergence else []
    return [*own, *(why for child in replayed.children for why in _why(child))]
