"""Circuit breakers in runs: a provider that cannot be reached is passed over with its models."""

from __future__ import annotations

from typing import Any

import pytest

from bridle import Agent, Harness
from bridle.app.config import Ports
from bridle.testing import ScriptedModel, fails, says
from support.kernel import Impatient

DOWN = fails("unavailable", message="Cannot reach acme")
BUSY = fails(503, message="this model is overloaded")


@pytest.mark.parametrize(
    ("failure", "asked_of_b", "passed_over"),
    [(DOWN, 0, "acme failed several times"), (BUSY, 1, None)],
    ids=["unreachable", "one model is busy"],
)
async def test_a_fallback_of_the_same_provider(
    failure: Any, asked_of_b: int, passed_over: str | None
) -> None:
    models = {
        "acme/a": ScriptedModel([failure] * 20, id="acme/a"),
        "acme/b": ScriptedModel([says("from b")], id="acme/b"),
        "other/c": ScriptedModel([says("from c")], id="other/c"),
    }
    harness = Harness(
        store="memory:",
        agent=Agent(instructions="", model="acme/a"),
        fallbacks=["acme/b", "other/c"],
        resolve_model=models.__getitem__,
        ports=Ports(clock=Impatient()),
    )
    async with harness:
        session = await harness.session()
        result = await session.send("go")
        events = await session.run_events(result.run_id)
    assert result.reason == "end_turn", result.error
    assert result.text == ("from b" if asked_of_b else "from c")
    assert len(models["acme/b"].requests) == asked_of_b
    told = [event.why for event in events if event.type == "model_fell_back"]
    assert len(told) == (1 if asked_of_b else 2)
    if passed_over is not None:
        assert passed_over in told[-1]


async def test_the_next_message_of_the_user_tries_again() -> None:
    model = ScriptedModel([DOWN] * 5, id="acme/a")
    harness = Harness(
        store="memory:",
        agent=Agent(instructions="", model="acme/a"),
        resolve_model=lambda _: model,
        ports=Ports(clock=Impatient()),
    )
    async with harness:
        session = await harness.session()
        first = await session.send("go")
        assert (first.reason, first.error.type) == ("error", "unavailable")
        model.plays(says("back"))
        assert (await session.send("again")).text == "back"
