"""A model that gets only the newest messages: where its requests begin anew is told."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bridle import Agent, Harness
from bridle.models.packs import Tuning
from bridle.runs.replay.driver import replay_thread
from bridle.testing import ScriptedModel, says


@pytest.mark.parametrize("limit", [None, 3])
async def test_leaving_out_the_oldest_is_told(limit: int | None) -> None:
    model = ScriptedModel([says(f"answer {n}") for n in range(4)])
    harness = Harness(
        store="memory:",
        agent=Agent("x"),
        resolve_model=lambda _: model,
        tuning=lambda _: Tuning(history=limit),
    )
    async with harness:
        session = await harness.session()
        for n in range(4):
            await session.send(f"question {n}")
        events = await harness.store.events(session.thread_id)
        replayed = await replay_thread(harness.store, session.thread_id)
    first = [request.messages[0].text for request in model.requests]
    moved = sum(one != other for one, other in itertools.pairwise(first))
    broken: list[Any] = [event for event in events if event.type == "prefix_broken"]
    assert len(broken) == moved
    assert (moved > 0) == (limit is not None)
    assert all("newest 3 messages" in event.cause for event in broken)
    assert replayed.equal, replayed.divergence
