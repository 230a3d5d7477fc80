from __future__ import annotations

import pytest

from bridle import Agent, FileInput, Rules, Subagent, UserError, tool
from bridle.testing import calls, says


async def test_a_clone_has_the_messages_and_leaves_the_source_alone(opened, model):
    model.plays(says("one"), says("two"))
    async with opened() as harness:
        session = await harness.session()
        await session.send("first")
        await session.threads.settings.set("color", "red")
        source = session.thread_id
        clone = await session.threads.clone(title="copy")
        assert clone.id != source
        assert await session.threads.settings.get("color") == "red"
        await session.send("second")
        assert len(await session.threads.messages()) == 4
        assert len(await session.threads.messages(thread_id=source)) == 2
        assert [m.role for m in model.requests[-1].messages] == ["user", "assistant", "user"]


async def test_switching_to_a_missing_thread_changes_nothing(opened):
    async with opened() as harness:
        session = await harness.session()
        before = session.thread_id
        with pytest.raises(UserError, match="no thread"):
            await session.threads.switch("thr_nope")
        assert session.thread_id == before


async def test_deleting_the_current_thread_leaves_the_session_without_one(opened):
    async with opened() as harness:
        session = await harness.session()
        await session.threads.rename("bye")
        assert session.threads.current.title == "bye"
        await session.threads.delete(session.thread_id)
        with pytest.raises(UserError, match="no thread"):
            _ = session.thread_id
        assert await session.threads.list() == []


async def test_threads_of_subagents_are_hidden(opened, model):
    model.plays(calls("subagent", agent_type="kid", task="t"), says("kid"), says("end"))
    async with opened(subagents=[Subagent("kid", instructions="kid")]) as harness:
        session = await harness.session()
        await session.send("go")
        assert len(await session.threads.list()) == 1
        assert len(await session.threads.list(include_forks=True)) == 2


async def test_no_more_children_than_allowed_work_at_once(opened, model):
    from bridle import Limits

    batch = [calls("subagent", agent_type="kid", task=str(n)) for n in range(5)]
    model.plays(batch, *[says("kid") for _ in range(5)], says("end"))
    limits = Limits(max_parallel=2)
    async with opened(subagents=[Subagent("kid", instructions="kid")], limits=limits) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.text == "end"
        open_children = peak = 0
        for event in await session.run_events(result.run_id):
            open_children += (event.type == "subagent_start") - (event.type == "subagent_end")
            peak = max(peak, open_children)
        assert peak == 2


async def test_a_subagent_cannot_do_what_its_parent_may_not(opened, model):
    ran = []

    @tool
    async def danger() -> str:
        """Do something."""
        ran.append(1)
        return "done"

    model.plays(
        calls("subagent", agent_type="kid", task="t"), calls("danger"), says("kid"), says("end")
    )
    kid = Subagent("kid", instructions="kid", tools=[danger])
    async with opened(subagents=[kid], permissions=Rules(tools={"danger": "deny"})) as harness:
        session = await harness.session()
        assert (await session.send("go")).text == "end"
        assert ran == []


async def test_a_child_that_asks_is_answered_through_the_parent(opened, model):
    @tool
    async def danger() -> str:
        """Do something."""
        return "done"

    model.plays(
        calls("subagent", agent_type="kid", task="t"), calls("danger"), says("kid"), says("end")
    )
    kid = Subagent("kid", instructions="kid", tools=[danger])
    async with opened(subagents=[kid]) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.reason == "awaiting"
        assert session.display.pending == session.pending != ()
        run_id = await session.approve(session.pending[0].id)
        assert run_id == result.run_id
        assert (await session.wait(run_id)).text == "end"


async def test_files_are_inlined_or_attached(opened, model, tmp_path):
    model.plays(says("ok"))
    path = tmp_path / "b.txt"
    path.write_text("from disk")
    async with opened() as harness:
        session = await harness.session()
        text = FileInput(name="a.txt", data=b"hello")
        image = FileInput(name="a.png", data=b"\x89PNG")
        await session.send("look", files=[text, image, path, str(path)])
        parts = model.requests[0].messages[0].parts
        assert ["from disk" in part.text for part in parts[3:]] == [True, True]
        assert "[File: a.txt]" in parts[1].text
        assert parts[2].media_type == "image/png"
        with pytest.raises(UserError, match="at most"):
            session.start("x", files=[FileInput(name="big", data=b"x" * 21_000_000)])
        with pytest.raises(UserError, match="is no file; give a FileInput or the path"):
            await session.send("x", files=[{"name": "a"}])
        with pytest.raises(UserError, match="cannot be read"):
            await session.send("x", files=["missing.txt"])


async def test_the_display_is_told_at_once_of_what_a_person_must_react_to(opened, model):
    model.plays(calls("ask_user", question="?"), says("fine"))
    async with opened() as harness:
        session = await harness.session()
        shown = []
        stop = session.events.subscribe_display(shown.append, window=60, max_wait=60)
        assert shown == []
        result = await session.send("ask")
        assert shown[-1].pending
        assert not shown[-1].is_running
        first = shown[-1]
        await session.answer(result.pending[0].id, "yes")
        await session.wait(result.run_id)
        assert shown[-1].current_message.text == "fine"
        assert first.pending
        stop()


async def test_answers_with_a_form(opened, model):
    import msgspec

    class Answer(msgspec.Struct):
        n: int

    model.plays(says('{"n": 3}'), says("no json"), says("nor now"))
    async with opened(agent=Agent("x", output=Answer)) as harness:
        session = await harness.session()
        assert (await session.send("go")).output == Answer(3)
        failed = await session.send("again")
        assert failed.output is None
        assert failed.error.type == "output_invalid"


async def test_the_contract_s_test_example_needs_no_model_name(model):
    from bridle import Harness

    @tool(category="read", read_only=True, concurrency_safe=True)
    async def word_count(path: str) -> int:
        """Count the words of a file."""
        return 3

    model.plays(calls("word_count", path="a.txt"), says("three words"))
    harness = Harness(
        id="t",
        store="memory:",
        agent=Agent(instructions="…", tools=[word_count]),
        permissions=Rules(tools={"word_count": "allow"}),
        resolve_model=lambda model_id: model,
    )
    async with harness:
        assert (await (await harness.session()).send("count")).text == "three words"


async def test_the_session_s_model_for_a_subagent_comes_before_its_own(opened, model):
    model.plays(calls("subagent", agent_type="kid", task="t"), says("kid"), says("end"))
    kid = Subagent("kid", instructions="kid", model="x/own")
    async with opened(subagents=[kid]) as harness:
        session = await harness.session()
        await session.subagents.set_model("x/chosen", "kid")
        assert session.subagents.model_for("kid") == "x/chosen"
        result = await session.send("go")
        events = await session.run_events(result.run_id)
        assert [e.model_id for e in events if e.type == "subagent_start"] == ["x/chosen"]
