from __future__ import annotations

from typing import Any

import anyio
import pytest

from bridle import Agent, Rules, ToolError, UserError, tool
from bridle.testing import calls, says


class Gauge:
    """Counts how many calls run at once."""

    def __init__(self) -> None:
        self.now: dict[str, int] = {}
        self.peak: dict[str, int] = {}
        self.order: list[str] = []

    async def work(self, name: str, label: str) -> str:
        for key in (name, "all"):
            self.now[key] = self.now.get(key, 0) + 1
            self.peak[key] = max(self.peak.get(key, 0), self.now[key])
        self.order.append(f"+{label}")
        await anyio.sleep(0.01)
        self.order.append(f"-{label}")
        for key in (name, "all"):
            self.now[key] -= 1
        return label


def tools_of(gauge: Gauge) -> list[Any]:
    @tool(category="read", read_only=True, concurrency_safe=True)
    async def read(n: int) -> str:
        """Read."""
        return await gauge.work("read", f"read{n}")

    @tool(category="other", read_only=True, concurrency_safe=True)
    async def other(n: int) -> str:
        """Something else."""
        return await gauge.work("other", f"other{n}")

    @tool(category="edit")
    async def write(n: int) -> str:
        """Write."""
        return await gauge.work("write", f"write{n}")

    return [read, other, write]


ALLOW = Rules(tools={"read": "allow", "other": "allow", "write": "allow"})


async def test_safe_calls_run_together_within_the_caps_and_results_keep_their_order(opened, model):
    gauge = Gauge()
    batch = [calls("read", n=n) for n in range(6)] + [calls("other", n=n) for n in range(6)]
    model.plays(batch, says("done"))
    async with opened(agent=Agent("x", tools=tools_of(gauge)), permissions=ALLOW) as harness:
        await (await harness.session()).send("go")
    assert gauge.peak["all"] <= 5
    assert gauge.peak["read"] <= 3
    assert gauge.peak["other"] <= 3
    assert gauge.peak["all"] > 1
    texts = [part.text for part in model.requests[-1].messages[-1].parts]
    assert texts == [f"read{n}" for n in range(6)] + [f"other{n}" for n in range(6)]


async def test_a_call_that_is_not_safe_runs_alone_and_in_its_place(opened, model):
    gauge = Gauge()
    batch = [calls("read", n=1), calls("write", n=1), calls("write", n=2), calls("read", n=2)]
    model.plays(batch, says("done"))
    async with opened(agent=Agent("x", tools=tools_of(gauge)), permissions=ALLOW) as harness:
        await (await harness.session()).send("go")
    names = ("read1", "write1", "write2", "read2")
    assert gauge.order == [f"{sign}{name}" for name in names for sign in "+-"]


async def test_what_a_tool_raises_is_told_to_the_model_as_an_error(opened, model):
    @tool
    async def hinted() -> str:
        """Fail with a hint."""
        raise ToolError("no such thing", hint="try another")

    @tool
    async def broken() -> str:
        """Fail with a bug."""
        raise KeyError("oops")

    @tool(timeout=0.05)
    async def slow() -> str:
        """Take too long."""
        await anyio.sleep(30)
        return "never"

    model.plays([calls("hinted"), calls("broken"), calls("slow")], says("ok"))
    rules = Rules(tools={"hinted": "allow", "broken": "allow", "slow": "allow"})
    agent = Agent("x", tools=[hinted, broken, slow])
    async with opened(agent=agent, permissions=rules) as harness:
        assert (await (await harness.session()).send("go")).reason == "end_turn"
    told = model.requests[-1].messages[-1].parts
    assert all(part.is_error for part in told)
    assert "Hint: try another" in told[0].text
    assert "KeyError" in told[1].text
    assert "did not end within" in told[2].text


async def test_a_long_output_is_cut_in_the_middle_and_kept_whole(opened, model):
    @tool
    async def flood() -> str:
        """Say a lot."""
        return "a" * 50_000 + "MIDDLE" + "z" * 50_000

    model.plays(calls("flood"), says("ok"))
    agent = Agent("x", tools=[flood])
    async with opened(agent=agent, permissions=Rules(tools={"flood": "allow"})) as harness:
        session = await harness.session()
        result = await session.send("go")
        end = next(e for e in await session.run_events(result.run_id) if e.type == "tool_end")
    assert len(end.result) < 40_000
    assert "MIDDLE" not in end.result
    assert end.artefact in end.result


async def test_changed_arguments_are_validated_and_decided_again(opened, model):
    ran: list[int] = []

    @tool(category="edit")
    async def act(n: int) -> str:
        """Act."""
        ran.append(n)
        return "acted"

    model.plays(calls("act", n=1), says("ok"))
    async with opened(agent=Agent("x", tools=[act])) as harness:
        session = await harness.session()
        result = await session.send("go")
        with pytest.raises(UserError, match="Invalid arguments for act"):
            await session.approve(result.pending[0].id, {"n": "many"})
        await session.approve(result.pending[0].id, {"n": 7})
        result = await session.wait(result.run_id)
        ends = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert ran == [7]
    assert [e.is_error for e in ends] == [False]


@pytest.mark.parametrize("scope", ["category", "tool"])
async def test_always_allow_holds_for_the_session_and_not_longer(tmp_path, opened, model, scope):
    @tool(category="edit")
    async def act(n: int) -> str:
        """Act."""
        return "acted"

    model.plays(calls("act", n=1), calls("act", n=2), says("ok"))
    agent = Agent("x", tools=[act])
    store = f"sqlite:///{tmp_path}/store.db"
    async with opened(agent=agent, store=store) as harness:
        session = await harness.session()
        result = await session.send("go")
        await session.always_allow(result.pending[0].id, scope)
        assert (await session.wait(result.run_id)).reason == "end_turn"
        granted = session.permissions.grants
        assert (granted["categories"], granted["tools"]) == (
            (["edit"], []) if scope == "category" else ([], ["act"])
        )
    model.plays(calls("act", n=3), says("ok"))
    async with opened(agent=agent, store=store) as again:  # in the same process
        session = await again.session(thread_id=result.thread_id)
        assert session.permissions.grants == {"categories": [], "tools": [], "patterns": []}
        assert (await session.send("more")).reason == "awaiting"


async def test_a_declined_and_a_denied_call_are_seen_as_such(opened, model):
    @tool
    async def act() -> str:
        """Act."""
        return "acted"

    @tool
    async def never() -> str:
        """Never."""
        return "never"

    model.plays([calls("act"), calls("never")], says("ok"))
    agent = Agent("x", tools=[act, never])
    async with opened(agent=agent, permissions=Rules(tools={"never": "deny"})) as harness:
        session = await harness.session()
        result = await session.send("go")
        await session.decline(result.pending[0].id, "not now")
        result = await session.wait(result.run_id)
        ends = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert all(e.is_error and e.denied for e in ends)
    assert "not now" in " ".join(e.result for e in ends)
