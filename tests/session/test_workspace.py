"""Workspaces: an instance, a config, or one per request; what comes of opening them is told."""

from __future__ import annotations

import itertools

import pytest

from bridle import Agent, Rules, UserError, Workspace
from bridle.testing import calls, says


def lifecycle(events):
    return [
        event.status if event.type == "workspace_status_changed" else event.type
        for event in events
        if event.type.startswith("workspace_")
    ]


async def thread_events(harness, thread_id):
    return await harness.store.events(thread_id)


@pytest.mark.parametrize("form", [Workspace, str, lambda path: {"path": path, "sandbox": "auto"}])
async def test_an_instance_a_directory_or_a_config(opened, model, tmp_path, form):
    (tmp_path / "a.txt").write_text("here")
    model.plays(calls("read_file", path="a.txt"), says("read"))
    async with opened(workspace=form(tmp_path)) as harness:
        session = await harness.session()
        assert session.workspace.configured
        assert session.workspace.ready
        assert session.workspace.get().root == tmp_path
        await session.send("read")
        assert "here" in model.requests[1].messages[-1].parts[0].text
        events = await thread_events(harness, session.thread_id)
        assert lifecycle(events) == ["initializing", "ready", "workspace_ready"]
        second = await harness.session(new=True)
        told = lifecycle(await thread_events(harness, second.thread_id))
        assert told == ["ready", "workspace_ready"]


async def test_without_a_workspace_there_is_none(opened):
    async with opened() as harness:
        session = await harness.session()
        assert not session.workspace.configured
        assert not session.workspace.ready
        assert session.workspace.get() is None
        assert await session.workspace.resolve() is None


async def test_one_that_cannot_be_opened_fails_its_runs_and_not_the_harness(
    opened, model, tmp_path
):
    missing = tmp_path / "later"
    async with opened(workspace=Workspace(missing)) as harness:
        session = await harness.session()
        assert session.workspace.configured
        assert not session.workspace.ready
        told = lifecycle(await thread_events(harness, session.thread_id))
        assert told == ["initializing", "error", "workspace_error"]
        result = await session.send("go")
        assert result.reason == "error"
        assert "later" in result.error.message
        with pytest.raises(UserError, match="cannot be used"):
            await session.workspace.resolve()
        missing.mkdir()
        model.plays(says("works now"))
        assert (await session.send("go")).text == "works now"
        told = lifecycle(await thread_events(harness, session.thread_id))
        assert told[3:] == ["initializing", "ready", "workspace_ready"]


async def test_it_is_destroyed_with_the_harness(model, tmp_path):
    from bridle import Harness

    store = f"sqlite:///{tmp_path}/s.db"
    agent = Agent("x")
    harness = Harness(store=store, agent=agent, workspace=tmp_path, resolve_model=lambda _id: model)
    async with harness:
        session = await harness.session()
        thread_id = session.thread_id
        await session.workspace.destroy()
        assert not session.workspace.ready
        assert (await session.workspace.resolve()).root == tmp_path
        assert session.workspace.ready
    async with Harness(store=store, agent=agent, resolve_model=lambda _id: model) as again:
        told = lifecycle(await again.store.events(thread_id))
    opened_once = ["initializing", "ready", "workspace_ready", "destroying", "destroyed"]
    assert told == opened_once * 2


async def test_each_tenant_works_in_a_workspace_of_its_own(opened, model, tmp_path):
    for tenant in ("ann", "bob"):
        (tmp_path / tenant).mkdir()
        (tmp_path / tenant / "who.txt").write_text(f"I am {tenant}")
    asked = []

    async def workspace(request):
        asked.append(request.resource_id)
        return Workspace(tmp_path / request.resource_id)

    async with opened(workspace=workspace) as harness:
        for tenant in ("ann", "bob"):
            model.plays(calls("read_file", path="who.txt"), says("ok"))
            session = await harness.session(tenant)
            assert session.workspace.ready  # it is the caller's
            await session.send("who?")
            assert f"I am {tenant}" in model.requests[-1].messages[-1].parts[0].text
            assert session.workspace.get().root == tmp_path / tenant
        other = f"{tmp_path}/bob/who.txt"
        ann = await harness.session("ann")
        model.plays(calls("read_file", path=other), says("no"))
        result = await ann.send("look at bob's")
        (end,) = [e for e in await ann.run_events(result.run_id) if e.type == "tool_end"]
        assert end.is_error
        assert "I am bob" not in end.result
        assert set(asked) == {"ann", "bob"}
        told = lifecycle(await thread_events(harness, ann.thread_id))
        assert told == ["ready", "workspace_ready"]
    # what a function made is its caller's: nothing is destroyed


async def test_a_function_that_makes_another_one_each_time_or_fails(opened, model, tmp_path):
    numbers = itertools.count()

    def workspace(request):
        if request.values.get("broken"):
            raise LookupError(f"nothing {next(numbers)}")
        made = tmp_path / f"w{next(numbers)}"
        made.mkdir()
        return made

    async with opened(workspace=workspace) as harness:
        session = await harness.session()
        model.plays(says("one"), says("two"))
        await session.send("x")
        first = session.workspace.get().root
        await session.send("y")
        assert session.workspace.get().root != first
        assert await session.workspace.resolve() == session.workspace.get()
        result = await session.send("z", context={"broken": True})
        assert "LookupError: nothing" in result.error.message
        with pytest.raises(UserError, match="LookupError"):
            await session.workspace.resolve(context={"broken": True})


async def test_the_context_of_resolve_reaches_the_function(opened, tmp_path):
    async with opened(workspace=lambda request: request.values["where"]) as harness:
        session = await harness.session()
        found = await session.workspace.resolve(context={"where": tmp_path})
        assert found.root == tmp_path


async def test_the_rules_of_a_tenants_workspace_are_compiled_for_it(opened, model, tmp_path):
    async with opened(workspace=lambda _request: tmp_path, permissions=Rules()) as harness:
        session = await harness.session()
        await session.workspace.resolve()
        inside = session.permissions.explain("read_file", {"path": "a.txt"})
        outside = session.permissions.explain("read_file", {"path": "/etc/hostname"})
        assert (inside.effect, outside.effect) == ("allow", "deny")


async def test_a_harness_that_is_opened_again_opens_its_workspaces_again(model, tmp_path):
    from bridle import Harness

    for workspace in (tmp_path, lambda _request: tmp_path):
        harness = Harness(
            store=f"sqlite:///{tmp_path}/s.db",
            agent=Agent("x"),
            workspace=workspace,
            resolve_model=lambda _id: model,
        )
        for _ in range(2):
            async with harness:
                model.plays(calls("list_files"), says("listed"))
                session = await harness.session()
                assert (await session.send("look")).text == "listed"
                assert session.workspace.get().root == tmp_path
