from __future__ import annotations

import dataclasses

import anyio
import msgspec
import pydantic
import pytest

from bridle import UserError
from bridle.testing import calls, says


class Struct(msgspec.Struct):
    count: int = 0
    name: str = ""


@dataclasses.dataclass
class Data:
    count: int = 0
    name: str = ""


class Model(pydantic.BaseModel):
    count: int = 0
    name: str = ""


@pytest.mark.parametrize("kind", [Struct, Data, Model])
async def test_state_is_validated_and_tells_what_really_changed(opened, kind):
    async with opened(state=kind) as harness:
        session = await harness.session()
        seen = []
        session.events.subscribe(seen.append)
        await session.state.set(count=1, name="")
        assert session.state.get() == kind(count=1, name="")
        assert seen[-1].changed_keys == ("count",)
        with pytest.raises(UserError, match="count"):
            await session.state.set(count="many")
        with pytest.raises(UserError, match="Did you mean 'count'"):
            await session.state.set(cuont=2)
        assert session.state.get().count == 1
        again = await harness.session(thread_id=session.thread_id)
        assert again.state.get().count == 1


async def test_concurrent_updates_lose_nothing(opened):
    async with opened(state=Struct) as harness:
        session = await harness.session()

        async def add() -> None:
            await session.state.update(lambda state: {"count": state.count + 1})

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(add)
        assert session.state.get().count == 20


async def test_an_update_must_return_what_to_change(opened):
    async with opened(state={"properties": {"n": {"type": "integer", "default": 1}}}) as harness:
        session = await harness.session()
        for returned in (None, 3):
            with pytest.raises(UserError, match=f"returned {returned}; return the new state"):
                await session.state.update(lambda _state, returned=returned: returned)
        assert session.state.get() == {"n": 1}


@pytest.mark.parametrize("given", [Struct, {"properties": {"count": {"type": "integer"}}}])
async def test_an_update_may_change_the_copy_that_it_is_given(opened, given):
    def add(state):
        if isinstance(state, dict):
            state["count"] = state.get("count", 0) + 1
        else:
            state.count += 1

    async def later(state):
        add(state)

    async with opened(state=given) as harness:
        session = await harness.session()
        await session.state.update(fn=add)
        await session.state.update(fn=add)
        with pytest.raises(UserError, match="is async; give a plain one"):
            await session.state.update(later)
        state = session.state.get()
        assert (state["count"] if isinstance(state, dict) else state.count) == 2


async def test_a_field_that_the_class_has_lost_does_not_stand_in_the_way(opened, tmp_path):
    class Later(msgspec.Struct):
        count: int = 0
        color: str = "red"

    store = f"sqlite:////{tmp_path}/s.db"
    async with opened(state=Struct, store=store) as harness:
        await (await harness.session()).state.set(count=2, name="old")
    async with opened(state=Later, store=store) as harness:
        session = await harness.session()
        await session.state.set(color="blue")
        assert session.state.get() == Later(count=2, color="blue")


async def test_a_state_class_that_cannot_be_built_is_refused(opened):
    class Needs(msgspec.Struct):
        must: int

    with pytest.raises(UserError, match="cannot be built"):
        async with opened(state=Needs):
            pass


async def test_several_questions_wait_at_once_and_wrong_answers_are_refused(opened, model):
    options = [{"label": "red"}, {"label": "blue"}]
    model.plays(
        [
            calls("ask_user", question="name?"),
            calls("ask_user", question="color?", options=options),
            calls(
                "ask_user",
                question="many?",
                options=["red", "blue"],  # plain labels are options too
                selection_mode="multi_select",
            ),
        ],
        says("thanks"),
    )
    async with opened() as harness:
        session = await harness.session()
        result = await session.send("ask me")
        free, single, multi = result.pending
        assert single.args["selection_mode"] == "single_select"
        with pytest.raises(UserError, match="not an option"):
            await session.answer(single.id, "green")
        with pytest.raises(UserError, match="Choose one"):
            await session.answer(single.id, ["red", "blue"])
        with pytest.raises(UserError, match="is a question, not an approval"):
            await session.approve(single.id)
        await session.answer(multi.id, ["red", "blue"])
        await session.answer(free.id, "Ann")
        await session.answer(single.id, "blue")
        result = await session.wait(result.run_id)
        assert result.text == "thanks"
        answers = [part.text for part in model.requests[-1].messages[-1].parts]
        assert answers == [
            "The user answered: Ann",
            "The user answered: blue",
            "The user answered: red, blue",
        ]
        with pytest.raises(UserError, match="Nothing waits"):
            await session.answer(free.id, "again")
        assert session.pending == ()


async def test_abort_settles_what_waits(opened, model):
    model.plays(calls("ask_user", question="?"), says("after"))
    async with opened() as harness:
        session = await harness.session()
        result = await session.send("ask")
        await session.abort()
        ended = await session.wait(result.run_id)
        assert ended.reason == "user_interrupt"
        assert session.pending == ()
        assert (await session.send("next")).text == "after"


async def test_tasks_have_ids_and_one_is_in_progress(opened, model):
    first = {"content": "Write it", "status": "in_progress"}
    model.plays(
        calls("task_write", tasks=[first, {"content": "Test it"}]),
        calls("task_update", id="task_test_it", status="in_progress"),
        calls("task_complete", id="nope"),
        calls("task_write", tasks=[first, {"content": "B", "status": "in_progress"}]),
        calls("task_check"),
        says("done"),
    )
    async with opened() as harness:
        session = await harness.session()
        result = await session.send("work")
        assert [(t.id, t.status) for t in session.tasks.list] == [
            ("task_write_it", "pending"),
            ("task_test_it", "in_progress"),
        ]
        ends = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
        assert [e.is_error for e in ends] == [False, False, True, True, False]
        assert "task_write_it" in ends[2].result
        assert msgspec.json.decode(ends[4].result)["summary"]["in_progress"] == 1
        await session.tasks.restore(())
        assert session.display.tasks == ()
        assert len(session.tasks.list) == 2


async def test_a_tool_that_suspends_itself_goes_on_with_what_it_waited_for(opened, model):
    from typing import Any

    from bridle import Agent, Rules, Suspended, ToolContext, tool

    @tool(concurrency_safe=True)
    async def wait_for_code(ctx: ToolContext[Any]) -> str | Suspended:
        """Wait for a code from elsewhere."""
        if ctx.resumed is None:
            return Suspended(payload={"need": "code"})
        return f"got {ctx.resumed}"

    model.plays([calls("wait_for_code"), calls("wait_for_code")], says("ok"))
    agent = Agent("x", tools=[wait_for_code])
    async with opened(agent=agent, permissions=Rules(tools={"wait_for_code": "allow"})) as harness:
        session = await harness.session()
        result = await session.send("go")
        first, second = result.pending  # each has an id of its own
        assert (first.kind, first.args) == ("tool", {"need": "code"})
        await session.resume_tool(second.id, "two")
        await session.resume_tool(first.id, 42)
        assert (await session.wait(result.run_id)).text == "ok"
        told = [part.text for part in model.requests[-1].messages[-1].parts]
        assert told == ["got 42", "got two"]
