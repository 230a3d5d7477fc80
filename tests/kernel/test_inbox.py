"""Input is admitted before it acts, acts once, and in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import tool
from bridle.errors import AnswerError
from bridle.testing import ScriptedModel, calls, says
from bridle.types.content import Text
from bridle.types.ops import Send
from support.kernel import ByStep, check_log, make_harness
from support.outline import only, outline


class Hold:
    """A tool that waits until the test lets it go."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.let_go = anyio.Event()

    @property
    def tool(self) -> Any:
        @tool(name="hold", category="read", read_only=True)
        async def hold() -> str:
            """Wait for the test."""
            self.began.set()
            await self.let_go.wait()
            return "held"

        return hold


async def test_the_order_of_a_run_is_that_of_the_contract(opened: Any) -> None:
    hold = Hold()
    hold.let_go.set()
    harness = await opened(ScriptedModel([calls("hold"), says("done")]), [hold.tool])
    session = await harness.session()
    await session.send("go")
    events = await harness.store.events(session.thread_id)
    assert outline(events, everything=True) == [
        "thread_created",
        "input_admitted send",
        "lease_taken",
        "agent_start",
        "message_start",
        "message_end user",
        "budget_reserved",
        "message_start",
        "message_end assistant tool_use",
        "usage_update",
        "budget_settled",
        "tool_start hold",
        "permission_decided allow",
        "tool_end",
        "budget_reserved",
        "message_start",
        "message_end assistant end_turn",
        "usage_update",
        "budget_settled",
        "agent_end end_turn",
    ]


async def test_the_same_input_twice_runs_once(opened: Any) -> None:
    harness = await opened(ScriptedModel([says("once"), says("twice")]))
    session = await harness.session()
    op = Send(run_id="run_1", parts=(Text("go"),))
    journal = harness._engine.journal
    assert await journal.admit(session.thread_id, op, input_id="in_1")
    assert not await journal.admit(session.thread_id, op, input_id="in_1")
    await session.wait("run_1")
    assert not await journal.admit(session.thread_id, op, input_id="in_1")
    await session.wait("run_1")
    assert len(await harness.store.runs()) == 1


async def test_a_steer_is_heard_before_the_next_request(opened: Any) -> None:
    hold = Hold()
    model = ScriptedModel([calls("hold"), says("both")])
    harness = await opened(model, [hold.tool])
    session = await harness.session()
    run = session.start("go")
    await run.begin()
    await hold.began.wait()
    await session.steer("not that way")
    await session.steer("this way")
    hold.let_go.set()
    assert (await run).text == "both"
    roles = [m.role for m in model.requests[1].messages]
    assert roles == ["user", "assistant", "tool", "user", "user"]
    assert [m.text for m in model.requests[1].messages[3:]] == ["not that way", "this way"]
    assert len(await harness.store.runs()) == 1


async def test_a_steer_at_the_last_word_goes_on_with_the_run(opened: Any) -> None:
    """It comes while the model says its last word; the run does not end over it."""
    harness: Any = None
    session: Any = None

    def last_word(request: Any) -> Any:
        harness._tasks.group.start_soon(session.steer, "one more thing")
        return says("done, I thought")

    model = ByStep(lambda request: last_word(request) if request.step == 1 else says("done now"))
    harness = await opened(model)
    session = await harness.session()
    result = await session.send("go")
    with anyio.fail_after(5):
        while session.is_running:
            await anyio.sleep(0.01)
    texts = [m.text for m in await session.threads.messages()]
    assert texts == ["go", "done, I thought", "one more thing", "done now"]
    assert result.reason == "end_turn"


async def test_a_steer_with_nothing_to_steer_is_a_run(opened: Any) -> None:
    harness = await opened(ScriptedModel([says("hello")]))
    session = await harness.session()
    await session.steer("anybody there?")
    with anyio.fail_after(5):
        while session.is_running:
            await anyio.sleep(0.01)
    events = await harness.store.events(session.thread_id)
    assert only(events, "agent_start", "agent_end") == ["agent_start", "agent_end end_turn"]


async def test_follow_ups_run_one_by_one_in_order(opened: Any) -> None:
    hold = Hold()
    model = ScriptedModel([calls("hold"), says("one"), says("two"), says("three")])
    harness = await opened(model, [hold.tool])
    session = await harness.session()
    run = session.start("first")
    await run.begin()
    await hold.began.wait()
    later = [await session.follow_up(text) for text in ("second", "third")]
    hold.let_go.set()
    assert (await run).text == "one"
    assert [(await session.wait(name)).text for name in later] == ["two", "three"]
    events = await harness.store.events(session.thread_id)
    check_log(events)
    queued = [e.count for e in events if e.type == "follow_up_queued"]
    assert queued == [1, 2]
    started = [e.task for e in events if e.type == "agent_start"]
    assert started == ["first", "second", "third"]


async def test_follow_ups_outlive_the_process(tmp_path: Path) -> None:
    hold = Hold()
    path = tmp_path / "store.db"
    async with make_harness(path, ScriptedModel([calls("hold")]), [hold.tool]) as harness:
        session = await harness.session()
        await session.start("first").begin()
        await hold.began.wait()
        later = [await session.follow_up(text) for text in ("second", "third")]
    async with make_harness(path, ScriptedModel([says("two"), says("three")])) as harness:
        session = await harness.session()
        assert await session.open_run() == later[0]
        await session.resume()
        assert [(await session.wait(name)).text for name in later] == ["two", "three"]
        events = await harness.store.events(session.thread_id)
        check_log(events)
        reasons = only(events, "agent_end")
        assert reasons == ["agent_end user_interrupt", "agent_end end_turn", "agent_end end_turn"]


async def test_inputs_sent_at_once_run_one_after_the_other(opened: Any) -> None:
    harness = await opened(ScriptedModel([says(str(n)) for n in range(8)]))
    session = await harness.session()
    results: list[Any] = []

    async def send(text: str) -> None:
        results.append(await session.send(text))

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(send, str(number))
    assert sorted(result.text for result in results) == [str(n) for n in range(8)]
    check_log(await harness.store.events(session.thread_id))


async def test_an_answer_to_nothing_is_refused(opened: Any) -> None:
    harness = await opened(ScriptedModel([says("x")]))
    session = await harness.session()
    with pytest.raises(AnswerError, match="Nothing waits"):
        await session.approve("apr_none")
    with pytest.raises(AnswerError, match="Unknown scope"):
        await session.always_allow("apr_none", scope="everything")
