"""The coordinator: it delegates and does nothing else, whatever its model tries."""

from __future__ import annotations

import json
from typing import Any

import anyio

from bridle import Subagent, parse_subagent_meta, tool
from bridle.delegation.coordinator import INSTRUCTIONS
from bridle.testing import calls, fails, says
from delegation.conftest import Cast, log_of, results

TOGETHER = 3


def worker_kind(**more: Any) -> Subagent:
    return Subagent("worker", description="Works.", instructions="worker", **more)


def fork(name: str, **more: Any) -> Any:
    return calls("fork_agent", task=f"part {name}", agent_type="worker", name=name, **more)


async def test_it_takes_apart_waits_and_puts_together(opened: Any) -> None:
    arrived = 0
    all_there = anyio.Event()

    @tool(category="read", read_only=True)
    async def meet() -> str:
        """Wait until all workers are here: they can only all come if they work at once."""
        nonlocal arrived
        arrived += 1
        if arrived == TOGETHER:
            all_there.set()
        with anyio.fail_after(20):
            await all_there.wait()
        return "met"

    def coordinate(request: Any) -> Any:
        if request.step == 1:
            return [fork(name) for name in "abc"]
        if request.step == 2:
            return calls("wait_for_agent", timeout=30)
        agents = json.loads(request.messages[-1].parts[0].text)["agents"]
        return says(" ".join(f"{one['name']}={one['result']}" for one in agents))

    def work(request: Any) -> Any:
        part = request.messages[0].text.split()[-1]
        return calls("meet") if request.step == 1 else says(f"did {part}")

    ask = calls("call_coordinator", task="do a, b and c")
    model = Cast(**{"main": [ask, says("end")], INSTRUCTIONS: coordinate, "worker": work})
    async with opened(model, subagents=[worker_kind(tools=[meet])]) as harness:
        session = await harness.session()
        result = await session.send("go")
        returned = results(await log_of(harness, session.thread_id))[0]
    assert result.text == "end"
    text, meta = parse_subagent_meta(returned.result)
    assert text == "a=did a b=did b c=did c"
    assert arrived == TOGETHER
    assert all_there.is_set()
    assert meta is not None
    assert meta.agent_type == "coordinator"
    assert {spec.name for spec in model.sent(INSTRUCTIONS)[0].tools} == {
        "fork_agent",
        "send_message",
        "wait_for_agent",
    }


async def test_other_tools_are_neither_offered_nor_run(opened: Any) -> None:
    """Two gates: the list, and the decision. The control is the main agent, who may."""
    ran: list[str] = []

    @tool(category="execute")
    def bash(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return "ran"

    tries = [
        calls("bash", command="from the coordinator"),
        calls("execute_command", command="by another name"),
        calls("subagent", agent_type="worker", task="t"),
        calls("call_coordinator", task="t"),
        calls("task_write", tasks=[{"content": "x"}]),
    ]
    main = [calls("bash", command="from the main agent"), calls("call_coordinator", task="t")]
    model = Cast(**{"main": [main, says("end")], INSTRUCTIONS: [tries, says("could not")]})
    async with opened(
        model, agent_tools=[bash], subagents=[worker_kind(allowed_tools=["bash"])]
    ) as harness:
        session = await harness.session()
        await session.send("go")
        child = (await harness.store.children(session.thread_id))[0]
        events = await log_of(harness, child)
    offered = {spec.name for spec in model.sent(INSTRUCTIONS)[0].tools}
    assert offered.isdisjoint({"bash", "subagent", "call_coordinator", "task_write"})
    assert [(e.denied, e.kind) for e in results(events)] == [(True, "denied")] * len(tries)
    rules = {e.rule for e in events if e.type == "permission_decided"}
    assert rules == {"scope:not-offered"}
    assert ran == ["from the main agent"]


async def test_a_failed_worker_is_replaced_and_a_stuck_one_is_not_waited_for(opened: Any) -> None:
    @tool(category="read", read_only=True)
    async def hang() -> str:
        """Never come back."""
        await anyio.sleep_forever()
        return ""

    def coordinate(request: Any) -> Any:
        script = [
            [fork("good"), fork("bad"), fork("stuck")],
            calls("wait_for_agent", agents=["good", "bad"], timeout=30),
            [
                fork("better", replaces="bad"),
                calls("wait_for_agent", agents=["stuck"], timeout=0.1),
            ],
            calls("wait_for_agent", agents=["better"], timeout=30),
            says("good and better are done, stuck is not"),
        ]
        return script[request.step - 1]

    def work(request: Any) -> Any:
        part = request.messages[0].text.split()[-1]
        if part == "bad":
            return fails("authentication", message="no key")
        if part == "stuck" and request.step == 1:
            return calls("hang")
        return says(f"did {part}")

    ask = calls("call_coordinator", task="do it")
    model = Cast(**{"main": [ask, says("end")], INSTRUCTIONS: coordinate, "worker": work})
    async with opened(model, subagents=[worker_kind(tools=[hang])]) as harness:
        session = await harness.session()
        with anyio.fail_after(60):
            await session.send("go")
        begun = await log_of(harness, session.thread_id)
        child = next(e.child_thread_id for e in begun if e.type == "subagent_start")
        waits = [e for e in results(await log_of(harness, child)) if e.tool == "wait_for_agent"]
        threads = [
            await harness.store.runs(thread_id=n) for n in await harness.store.children(child)
        ]
    assert [(e.kind, e.is_error) for e in waits] == [
        ("agent_failed", True),
        ("timeout", True),
        (None, False),
    ]
    told = {a["name"]: a["status"] for e in waits for a in json.loads(e.result)["agents"]}
    assert told == {"good": "completed", "bad": "failed", "stuck": "running", "better": "completed"}
    assert all(runs[0].status == "ended" for runs in threads), "nobody is left behind"


async def test_a_harness_can_have_a_coordinator_of_its_own(opened: Any) -> None:
    own = Subagent("chief", instructions="chief", coordinator=True, model="x/large")
    models: dict[str, Cast] = {}

    def resolve(name: str) -> Cast:
        parts = {"main": [calls("call_coordinator", task="t"), says("end")], "chief": [says("hm")]}
        return models.setdefault(name, Cast(name, **parts))

    async with opened(None, subagents=[own, worker_kind()], resolve_model=resolve) as harness:
        await (await harness.session()).send("go")
    (request,) = models["x/large"].requests
    assert request.system == "chief"
    assert [spec.name for spec in request.tools] == ["fork_agent", "send_message", "wait_for_agent"]


async def test_a_coordinator_s_own_context_is_not_inherited(opened: Any) -> None:
    ask = calls("call_coordinator", task="t")
    tries = [calls("fork_agent", task="t", type="fork"), says("no")]
    model = Cast(**{"main": [ask, says("end")], INSTRUCTIONS: tries})
    async with opened(model, subagents=[worker_kind()]) as harness:
        session = await harness.session()
        await session.send("go")
        child = (await harness.store.children(session.thread_id))[0]
        (refused,) = results(await log_of(harness, child))
    assert refused.kind == "cannot_fork"
