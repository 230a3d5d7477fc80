"""An abort always ends with one `agent_end(user_interrupt)`, wherever the run stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import Rules, Subagent, tool
from bridle.app.config import Ports
from bridle.ports.model import TextDelta
from bridle.testing import ScriptedModel, calls, fails, says
from support.kernel import check_history, check_log, make_harness
from support.outline import only, outline


class Endless:
    """A model that says a few words and then nothing more."""

    id, price, context_window = "scripted/queue", None, None

    def __init__(self, text: str = "so far ") -> None:
        self.text = text
        self.speaking = anyio.Event()

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        if self.text:
            yield TextDelta(self.text)
        self.speaking.set()
        await anyio.sleep_forever()


@tool(category="read", read_only=True, concurrency_safe=True)
async def forever(name: str = "") -> str:
    """Never end."""
    await anyio.sleep_forever()
    return ""


@tool(category="read", read_only=True, concurrency_safe=True)
async def look(name: str = "") -> str:
    """Look."""
    return "seen"


@tool(category="execute")
async def act(name: str = "") -> str:
    """Act."""
    return "done"


async def until(condition: Any) -> None:
    with anyio.fail_after(10):
        while not await condition():
            await anyio.sleep(0.005)


async def aborted(harness: Any, session: Any, run_id: str) -> list[Any]:
    """Abort, and check what must hold for every abort."""
    with anyio.fail_after(10):
        await session.abort()
    events = await harness.store.events(session.thread_id)
    check_log(events)
    assert only(events, "agent_end") == ["agent_end user_interrupt"]
    assert await harness.store.pending() == []
    check_history(await session.threads.messages())
    result = await session.wait(run_id)
    assert (result.reason, result.verdict, result.pending) == ("user_interrupt", "stopped", ())
    return events


async def test_while_the_model_speaks_the_text_so_far_is_kept(opened: Any) -> None:
    model = Endless()
    harness = await opened(model)
    session = await harness.session()
    run = session.start("go")
    await run.begin()
    await model.speaking.wait()
    events = await aborted(harness, session, run.id)
    assert "message_end assistant interrupted" in outline(events)
    assert (await session.threads.messages())[-1].text == "so far "


async def test_before_the_first_word_the_history_stays_valid(opened: Any) -> None:
    model = Endless("")
    harness = await opened(model)
    session = await harness.session()
    run = session.start("go")
    await run.begin()
    await model.speaking.wait()
    await aborted(harness, session, run.id)
    assert [m.role for m in await session.threads.messages()] == ["user"]


async def test_while_tools_run_every_call_is_settled(opened: Any) -> None:
    batch = [calls("look"), calls("forever"), calls("forever", name="b"), calls("act")]
    harness = await opened(ScriptedModel([batch]), [look, forever, act])
    session = await harness.session()
    run = session.start("go")
    await run.begin()

    async def first_is_there() -> bool:
        return bool(only(await harness.store.events(session.thread_id), "tool_end"))

    await until(first_is_there)
    events = await aborted(harness, session, run.id)
    assert only(events, "tool_end") == ["tool_end", *["tool_end interrupted"] * 3]


async def test_while_parked_what_was_asked_is_declined(opened: Any) -> None:
    harness = await opened(
        ScriptedModel([[calls("act"), calls("act", name="b")]]), [act], permissions=Rules()
    )
    session = await harness.session()
    result = await session.send("go")
    assert (result.reason, len(result.pending)) == ("awaiting", 2)
    events = await aborted(harness, session, result.run_id)
    assert outline(events)[-6:] == [
        "input_admitted interrupt",
        "tool_approval_answered declined",
        "tool_end denied",
        "tool_approval_answered declined",
        "tool_end denied",
        "agent_end user_interrupt",
    ]


async def test_while_one_is_asked_and_another_runs(opened: Any) -> None:
    batch = [calls("act"), calls("forever")]
    harness = await opened(ScriptedModel([batch]), [act, forever], permissions=Rules())
    session = await harness.session()
    run = session.start("go")
    await run.begin()

    async def asked() -> bool:
        return bool(await harness.store.pending())

    await until(asked)
    events = await aborted(harness, session, run.id)
    assert only(events, "tool_end") == ["tool_end denied", "tool_end interrupted"]


async def test_while_it_waits_to_ask_a_failing_model_again(opened: Any) -> None:
    harness = await opened(ScriptedModel([fails(503, retry_after=50)]), ports=Ports())
    session = await harness.session()
    run = session.start("go")
    await run.begin()

    async def failed() -> bool:
        return bool(only(await harness.store.events(session.thread_id), "model_retried"))

    await until(failed)
    await aborted(harness, session, run.id)


async def test_before_the_run_has_begun(opened: Any) -> None:
    harness = await opened(ScriptedModel([calls("forever")]), [forever])
    session = await harness.session()
    run = session.start("go")
    await run.begin()
    await aborted(harness, session, run.id)


async def test_while_a_subagent_works_it_is_ended_too(opened: Any) -> None:
    kid = Subagent("kid", instructions="kid", allowed_tools=["forever"])
    script = [calls("subagent", agent_type="kid", task="wait"), calls("forever")]
    harness = await opened(ScriptedModel(script), [forever], subagents=[kid])
    session = await harness.session()
    run = session.start("go")
    await run.begin()

    async def working() -> bool:
        return len([r for r in await harness.store.runs() if r.status != "ended"]) == 2

    await until(working)
    await aborted(harness, session, run.id)
    with anyio.fail_after(5):
        await harness._engine.dispatcher.rested(session.thread_id)
    child = next(r for r in await harness.store.runs() if r.parent_run_id == run.id)
    assert (child.status, child.reason) == ("ended", "user_interrupt")
    check_log(await harness.store.events(child.thread_id))


async def test_it_returns_when_the_run_has_ended_and_the_queue_goes_on(opened: Any) -> None:
    harness = await opened(
        ScriptedModel([calls("forever"), calls("forever"), says("x")]), [forever]
    )
    session = await harness.session()
    run = session.start("go")
    await run.begin()

    async def begun() -> bool:
        return bool(only(await harness.store.events(session.thread_id), "tool_start"))

    await until(begun)
    later = await session.follow_up("and then")
    with anyio.fail_after(10):
        await session.abort()
    place = await harness.store.run(run.id)
    assert place.row.reason == "user_interrupt"
    with anyio.fail_after(10):
        while (await harness.store.run(later)) is None:
            await anyio.sleep(0.01)
        await session.abort()
    assert (await harness.store.run(later)).row.reason == "user_interrupt"


async def test_a_restart_drops_the_queue_and_sends(opened: Any) -> None:
    harness = await opened(ScriptedModel([calls("forever"), says("right away")]), [forever])
    session = await harness.session()
    await session.start("go").begin()

    async def begun() -> bool:
        return bool(only(await harness.store.events(session.thread_id), "tool_start"))

    await until(begun)
    for text in ("second", "third"):
        await session.follow_up(text)
    await session.steer("something else", restart=True)
    with anyio.fail_after(10):
        while session.is_running:
            await anyio.sleep(0.01)
    events = await harness.store.events(session.thread_id)
    check_log(events)
    assert [e.task for e in events if e.type == "agent_start"] == ["go", "something else"]
    assert only(events, "agent_end") == ["agent_end user_interrupt", "agent_end end_turn"]


async def test_with_nothing_to_end_it_does_nothing(opened: Any) -> None:
    harness = await opened(ScriptedModel([says("x")]))
    session = await harness.session()
    await session.abort()
    await session.send("go")
    await session.abort()
    events = await harness.store.events(session.thread_id)
    assert only(events, "agent_end") == ["agent_end end_turn"]


async def test_a_harness_that_is_closed_ends_what_runs_with_an_outcome(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    model = Endless()
    async with make_harness(path, model) as harness:
        session = await harness.session()
        run = session.start("go")
        await run.begin()
        await model.speaking.wait()
    async with make_harness(path, ScriptedModel([says("next")])) as harness:
        session = await harness.session()
        with anyio.fail_after(10):  # the lease was given back: nobody has to wait for it
            assert (await session.send("again")).text == "next"
        place = await harness.store.run(run.id)
        assert place is not None
        assert place.row.reason == "user_interrupt"
        assert [m.text for m in await session.threads.messages()] == [
            "go",
            "so far ",
            "again",
            "next",
        ]


@pytest.mark.parametrize("name", ["raised", "system exit", "timed out itself", "not text"])
async def test_whatever_a_tool_does_the_run_goes_on(opened: Any, name: str) -> None:
    @tool(category="read", read_only=True)
    async def break_it() -> str:
        """Break."""
        if name == "raised":
            raise RuntimeError("oops")
        if name == "system exit":
            raise SystemExit(3)
        if name == "timed out itself":
            raise TimeoutError("the server did not answer")
        return "\udcff is not text"

    harness = await opened(ScriptedModel([calls("break_it"), says("so what")]), [break_it])
    session = await harness.session()
    result = await session.send("go")
    assert result.text == "so what"
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert end.kind == (None if name == "not text" else "raised")
    assert "did not end within" not in end.result
