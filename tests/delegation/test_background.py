"""What holds for agents that work beside their parent: rules, ends, records, the display."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from bridle import Rules, Subagent, Workspace, tool
from bridle.runs.tree import read_tree
from bridle.runs.verify import verify
from bridle.store.artefacts import MemoryArtefacts
from bridle.testing import calls, says
from delegation.conftest import Cast, log_of, results
from delegation.test_mailboxes import KINDS, fork


@tool(category="read", read_only=True)
async def hang() -> str:
    """Never come back."""
    await anyio.sleep_forever()
    return ""


@tool(category="read", read_only=True)
def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize("effect", ["deny", "ask", "allow"])
@pytest.mark.parametrize("name", ["fork_agent", "send_message", "wait_for_agent", "subagent"])
async def test_written_rules_hold_for_the_tools_of_delegation(
    opened: Any, name: str, effect: str
) -> None:
    args = {
        "fork_agent": {"task": "t", "agent_type": "coder"},
        "send_message": {"to": "nobody", "text": "t"},
        "wait_for_agent": {},
        "subagent": {"task": "t", "agent_type": "coder"},
    }
    model = Cast(main=[calls(name, **args[name]), says("end")], coder=lambda _r: says("done"))
    rules = Rules(tools={name: effect})
    async with opened(model, subagents=KINDS, permissions=rules) as harness:
        session = await harness.session()
        result = await session.send("go")
        decided = [
            e for e in await log_of(harness, session.thread_id) if e.type == "permission_decided"
        ]
        await session.abort()
    assert [e.effect for e in decided] == [effect]
    assert (result.reason == "awaiting") is (effect == "ask")


async def test_an_abort_ends_the_agents_in_the_background_too(opened: Any) -> None:
    model = Cast(
        main=[[fork("a", "slow"), fork("b", "slow")], calls("wait_for_agent", timeout=60)],
        slow=[calls("hang")],
    )
    kind = Subagent("slow", instructions="slow", tools=[hang])
    async with opened(model, subagents=[kind]) as harness:
        session = await harness.session()
        async with anyio.create_task_group() as tasks:
            run = session.start("go")
            await run.begin()

            async def stop() -> None:
                while len(model.sent("slow")) < 2:
                    await anyio.sleep(0.01)
                await session.abort()

            tasks.start_soon(stop)
            with anyio.fail_after(30):
                result = await run
        below = await harness.store.children(session.thread_id)
        runs = [(await harness.store.runs(thread_id=name))[0] for name in below]
    assert result.reason == "user_interrupt"
    assert [run.reason for run in runs] == ["user_interrupt"] * 2


async def test_a_run_that_does_not_wait_ends_its_agents_and_its_log_ends_with_its_end(
    opened: Any,
) -> None:
    model = Cast(main=[fork("a", "slow"), says("I do not wait")], slow=[calls("hang")])
    kind = Subagent("slow", instructions="slow", tools=[hang])
    async with opened(model, subagents=[kind]) as harness:
        session = await harness.session()
        result = await session.send("go")
        await harness._open().dispatcher.rested(session.thread_id)
        child = (await harness.store.children(session.thread_id))[0]
        runs = await harness.store.runs(thread_id=child)
        events = [e for e in await log_of(harness, session.thread_id) if e.run_id == result.run_id]
        artefacts = MemoryArtefacts()
        tree = await read_tree(
            harness.store, session.thread_id, run_id=result.run_id, artefacts=artefacts
        )
        problems = verify(tree).problems
    assert result.reason == "end_turn"
    assert [run.status for run in runs] in (["ended"], [])
    assert events[-1].type == "agent_end"
    assert list(problems) == []


async def test_the_display_shows_what_agents_do(opened: Any) -> None:
    model = Cast(
        main=[fork("a", "kid"), calls("wait_for_agent", timeout=30), says("end")],
        kid=[calls("look"), says("all is well")],
    )
    kind = Subagent("kid", instructions="kid", tools=[look])
    async with opened(model, subagents=[kind]) as harness:
        session = await harness.session()
        texts: list[str] = []
        session.events.subscribe(
            lambda event: texts.append(event.delta) if event.type == "subagent_text_delta" else None
        )
        await session.send("go")
        (shown,) = session.display.subagents
    assert (shown.agent_type, shown.status, shown.result) == ("kid", "completed", "all is well")
    assert [(one.tool, one.status) for one in shown.tools] == [("look", "completed")]
    assert "".join(texts) == "all is well"
    assert shown.text == "all is well"


async def test_parallel_subagents_of_one_kind_have_names_of_their_own(opened: Any) -> None:
    batch = [calls("subagent", agent_type="coder", task=str(n)) for n in range(3)]
    model = Cast(main=[batch, batch[0], says("end")], coder=lambda _r: says("done"))
    async with opened(model, subagents=KINDS) as harness:
        session = await harness.session()
        await session.send("go")
        begun = [e for e in await log_of(harness, session.thread_id) if e.type == "subagent_start"]
        listed = [one.name for one in await session.subagents.list()]
    assert [e.name for e in begun] == ["coder-1", "coder-2", "coder-3", "coder"]
    assert sorted(listed) == ["coder", "coder-1", "coder-2", "coder-3", "main"]


async def status(harness: Any, thread_id: str) -> str | None:
    """How the newest run of a thread stands; None before there is one."""
    runs = await harness.store.runs(thread_id=thread_id, limit=1)
    return runs[0].status if runs else None


async def test_an_agent_whose_parent_s_thread_is_deleted_comes_to_its_end(opened: Any) -> None:
    go_on = anyio.Event()

    @tool(category="read", read_only=True)
    async def hold() -> str:
        """Wait until the parent is gone."""
        await go_on.wait()
        return "held"

    ask = calls("subagent", agent_type="kid", task="t")
    model = Cast(main=[ask, says("end")], kid=[calls("hold"), calls("look"), says("done")])
    kind = Subagent("kid", instructions="kid", tools=[hold, look])
    async with opened(model, subagents=[kind]) as harness:
        session = await harness.session()
        thread_id = session.thread_id
        await session.start("go").begin()
        with anyio.fail_after(30):
            while await status(harness, thread_id) != "awaiting":
                await anyio.sleep(0.01)
        child = (await harness.store.children(thread_id))[0]
        await session.threads.delete(thread_id)
        go_on.set()
        with anyio.fail_after(30):
            while await status(harness, child) != "ended":
                await anyio.sleep(0.01)
        assert (await harness.store.runs(thread_id=child))[0].reason == "end_turn"


async def test_a_pause_does_not_wait_for_a_deadline(opened: Any, tmp_path: Any) -> None:
    """Ctrl-C while an agent is waited for: everything rests, and goes on where it is resumed."""
    url = f"sqlite:///{tmp_path}/store.db"
    paused = anyio.Event()

    @tool(category="read", read_only=True)
    async def until_paused() -> str:
        """Wait for the pause."""
        await paused.wait()
        return "paused"

    script = [fork("a", "kid"), calls("wait_for_agent", timeout=600), says("end")]
    kind = Subagent("kid", instructions="kid", tools=[until_paused])
    parts = {"main": script, "kid": [calls("until_paused"), says("done")]}
    async with opened(Cast(**parts), subagents=[kind], store=url) as harness:
        session = await harness.session()
        run = session.start("go")
        await run.begin()
        with anyio.fail_after(30):
            while not [r for r in await harness.store.runs() if r.status == "awaiting"]:
                await anyio.sleep(0.01)
            harness.pause()
            paused.set()
            result = await run
    assert result.reason == "awaiting"
    async with opened(Cast(**parts), subagents=[kind], store=url) as harness:
        session = await harness.session()
        await session.resume()
        with anyio.fail_after(30):
            result = await session.wait(run.id)
    assert result.text == "end"


async def test_nobody_waits_for_the_words_of_an_agent_that_has_ended(opened: Any) -> None:
    wait = calls("wait_for_agent", agents=["a"], until="message", timeout=600)
    model = Cast(main=[fork("a", "coder"), wait, says("end")], coder=[says("I say nothing")])
    async with opened(model, subagents=KINDS) as harness:
        session = await harness.session()
        with anyio.fail_after(30):
            result = await session.send("go")
        ended = results(await log_of(harness, session.thread_id))[-1]
    assert result.text == "end"
    told = ended.kind == "unknown_address" or '"status":"completed"' in ended.result
    assert told, ended.result


async def test_checks_are_those_of_the_main_agent(opened: Any, tmp_path: Any) -> None:
    (tmp_path / "test_it.py").write_text("import unittest\n")
    script = [calls("fork_agent", task="t"), calls("wait_for_agent", timeout=60), says("end")]

    def main(request: Any) -> Any:
        return says("done") if request.messages[0].text == "t" else script[request.step - 1]

    async with opened(
        Cast(main=main), subagents=KINDS, workspace=Workspace(tmp_path), checks=True
    ) as harness:
        session = await harness.session()
        await session.send("go")
        threads = [session.thread_id, *await harness.store.children(session.thread_id)]
        checked = [
            any(e.type == "check_start" for e in await log_of(harness, name)) for name in threads
        ]
    assert checked == [True, False]
