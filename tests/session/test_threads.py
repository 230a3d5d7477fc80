"""Threads: everything of a list of conversations, and what a clone takes along."""

from __future__ import annotations

import dataclasses

import anyio
import pytest

from bridle import Agent, DisplaySnapshot, Harness, Mode, UserError
from bridle.testing import ScriptedModel, calls, says


@dataclasses.dataclass
class Data:
    count: int = 0


async def test_lists_by_resource_all_of_them_newest_first_and_stable(opened, model):
    model.plays(*[says("ok") for _ in range(4)])
    async with opened() as harness:
        ann = await harness.session("ann")
        first = ann.thread_id
        await ann.send("one")
        second = (await ann.threads.create("second")).id
        bob = await harness.session("bob")
        assert [t.id for t in await ann.threads.list()] == [second, first]
        assert [t.id for t in await bob.threads.list()] == [bob.thread_id]
        everything = [t.id for t in await ann.threads.list(all_resources=True)]
        assert everything == [bob.thread_id, second, first]
        assert everything == [t.id for t in await bob.threads.list(all_resources=True)]
        await ann.threads.switch(first)
        await ann.send("again")
        assert [t.id for t in await ann.threads.list()] == [first, second]
        assert ann.threads.current.updated_at == (await ann.threads.list())[0].updated_at
        assert (await harness.session("ann")).thread_id == first  # the newest one


async def test_the_first_messages_of_many_threads_come_in_one_query(opened, model):
    model.plays(*[says("ok") for _ in range(3)])
    async with opened() as harness:
        session = await harness.session()
        ids = []
        for text in ("alpha", "beta", "gamma"):
            await session.threads.create()
            await session.pin("always")
            await session.send(text)
            ids.append(session.thread_id)
        empty = (await session.threads.create()).id
        queries = []
        reader = harness.store._reader
        original = reader.run

        async def counted(work):
            queries.append(work)
            return await original(work)

        reader.run = counted
        found = await session.threads.first_user_messages([*ids, empty, "thr_missing"])
        reader.run = original
        assert len(queries) == 1
        assert {id: message.text for id, message in found.items()} == dict(
            zip(ids, ("alpha", "beta", "gamma"), strict=True)
        )
        assert (await session.threads.first_user_message(ids[1])).text == "beta"
        assert await session.threads.first_user_message(empty) is None


async def test_a_clone_has_new_ids_and_takes_state_mode_and_models_along(opened, model):
    model.plays(says("one"))
    modes = [Mode("a", Agent("a"), default=True), Mode("b", Agent("b"))]
    async with opened(modes=modes, state=Data) as harness:
        session = await harness.session("r")
        await session.send("first")
        await session.state.set(count=3)
        await session.modes.switch("b")
        await session.models.switch("x/mine")
        await session.threads.settings.set("color", "red")
        source = session.threads.current
        before = await harness.store.events(source.id)
        messages = await session.threads.messages()
        clone = await session.threads.clone(title="copy", resource_id="elsewhere")
        assert (clone.title, clone.resource_id) == ("copy", "elsewhere")
        assert clone.metadata["cloned_from"] == source.id
        copied = await session.threads.messages()
        assert [(m.role, m.text) for m in copied] == [(m.role, m.text) for m in messages]
        assert {m.id for m in copied}.isdisjoint(m.id for m in messages)
        assert session.state.get() == Data(3)
        assert (session.modes.current.id, session.models.current) == ("b", "x/mine")
        assert await session.threads.settings.get("color") == "red"
        assert session.usage.total_tokens == 0  # it has used nothing yet
        assert await harness.store.events(source.id) == before
        with pytest.raises(UserError, match="no thread"):
            await session.threads.clone("thr_missing")


async def test_a_clone_has_the_tasks_and_a_list_of_its_own(opened, model):
    two = [{"content": "one", "status": "in_progress"}, {"content": "two"}]
    model.plays(calls("task_write", tasks=two), says("noted"))
    async with opened() as harness:
        session = await harness.session()
        await session.send("go")
        source, tasks = session.thread_id, session.tasks.list
        assert [task.status for task in tasks] == ["in_progress", "pending"]
        await session.threads.clone()
        assert session.tasks.list == session.display.tasks == tasks
        model.plays(calls("task_complete", id=tasks[0].id), says("done"))
        await session.send("go on")
        assert [task.status for task in session.tasks.list] == ["completed", "pending"]
        await session.threads.switch(source)
        assert session.tasks.list == session.display.tasks == tasks


async def test_a_session_without_a_thread_shows_nothing_of_the_one_it_had(opened, model):
    model.plays(calls("ask_user", question="Which?"))
    async with opened() as harness:
        session = await harness.session()
        await session.send("go")
        assert session.pending
        assert session.display.current_message is not None
        assert session.usage.total_tokens > 0
        shown = []
        stop = session.events.subscribe_display(shown.append)
        await session.set_resource("elsewhere")
        assert session.threads.current is None
        assert session.pending == ()
        assert session.display == DisplaySnapshot()
        assert not session.is_running
        assert session.usage.total_tokens == 0
        with anyio.fail_after(10):
            while not shown:
                await anyio.sleep(0.01)
        assert shown[-1] == DisplaySnapshot()
        stop()


async def test_messages_may_be_limited_to_the_newest(opened, model):
    model.plays(says("one"), says("two"))
    async with opened() as harness:
        session = await harness.session()
        await session.send("a")
        await session.send("b")
        assert [m.text for m in await session.threads.messages(limit=3)] == ["one", "b", "two"]
        assert await session.threads.messages(limit=0) == ()
        assert len(await session.threads.messages(limit=99)) == 4
        with pytest.raises(UserError, match="negative"):
            await session.threads.messages(limit=-1)
        with pytest.raises(UserError, match="no thread"):
            await session.threads.messages(thread_id="thr_missing")


async def test_use_and_cost_survive_restarts(tmp_path):
    def harness():
        model = ScriptedModel([says("some words")])
        return Harness(
            store=f"sqlite:///{tmp_path}/s.db", agent=Agent("x"), resolve_model=lambda _id: model
        )

    async with harness() as first:
        session = await first.session()
        await session.send("a")
        used = session.usage
        assert used.total_tokens > 0
    async with harness() as second:
        session = await second.session()
        assert session.usage == used == session.display.usage
        await session.send("b")
        assert session.usage.total_tokens > used.total_tokens


async def test_a_thread_that_is_worked_on_is_not_deleted_under_its_owner(opened, model):
    import anyio

    from bridle.testing import slow

    model.plays([slow(200, 0.01), says("word " * 200)])
    async with opened() as harness:
        session = await harness.session()
        run = session.start("go")
        await run.begin()
        with anyio.fail_after(20):
            while not session.is_running or await harness.store.lease(session.thread_id) is None:
                await anyio.sleep(0.005)
        with pytest.raises(UserError, match="being worked on by pid"):
            await session.threads.delete(session.thread_id)
        await session.abort()


async def test_another_sessions_rename_is_seen(opened):
    async with opened() as harness:
        one = await harness.session()
        two = await harness.session(thread_id=one.thread_id)
        await two.threads.rename("named")
        assert one.threads.current.title == "named"


async def test_the_current_thread_is_the_one_that_the_list_shows(opened, model):
    model.plays(says("a"), says("b"))
    async with opened() as harness:
        session = await harness.session()
        for count in (2, 4):
            await session.send("x")
            (listed,) = await session.threads.list()
            assert session.threads.current == listed
            assert listed.messages == count


async def test_a_session_without_a_thread_begins_one_when_it_sends(opened, model):
    model.plays(says("a"), says("b"))
    async with opened() as harness:
        session = await harness.session("one")
        first = session.thread_id
        await session.threads.delete(first)
        assert session.threads.current is None
        with pytest.raises(UserError, match="has no thread; create or switch to one"):
            session.start("go")
        assert (await session.send("go")).thread_id == session.thread_id != first
        await session.set_resource("two")
        await session.send("go")
        assert session.threads.current.resource_id == "two"
        assert await harness.known_resource_ids() == ["one", "two"]
