"""A session's rules and grants: five categories, four policies, the chain that decides."""

from __future__ import annotations

import anyio
import pytest

from bridle import CATEGORIES, Agent, Rules, UserError, tool
from bridle.testing import calls, says


def tools():
    def make(category):
        @tool(name=f"t_{category}", category=category)
        async def run() -> str:
            """Run."""
            return "ran"

        return run

    return [make(category) for category in CATEGORIES]


async def outcome(session, model, name):
    """What comes of a call: asked, denied, or run, and whether somebody is told."""
    model.plays(calls(name), says("end"))
    result = await session.send("go")
    if result.pending:
        await session.decline(result.pending[0].id)
        await session.wait(result.run_id)
        return "ask"
    events = await session.run_events(result.run_id)
    (end,) = [e for e in events if e.type == "tool_end"]
    if end.denied:
        return "deny"
    told = [e for e in events if e.type == "info" and e.code == "notify"]
    return "notify" if told else "allow"


@pytest.mark.parametrize("category", CATEGORIES)
async def test_every_policy_of_every_category(opened, model, category):
    async with opened(agent=Agent("x", tools=tools())) as harness:
        name = f"t_{category}"
        for policy in ("allow", "notify", "ask", "deny"):
            session = await harness.session(new=True)
            await session.permissions.set_category(category, policy)
            assert await outcome(session, model, name) == policy
            assert session.permissions.explain(name, {}).effect == policy


async def test_a_tools_own_rule_comes_before_its_categorys(opened, model):
    async with opened(agent=Agent("x", tools=tools())) as harness:
        session = await harness.session()
        await session.permissions.set_category("edit", "ask")
        await session.permissions.set_tool("t_edit", "allow")
        assert await outcome(session, model, "t_edit") == "allow"
        again = await harness.session(thread_id=session.thread_id)  # they are the thread's
        assert [rule.id for rule in again.permissions.rules][:2] == [
            "session.categories.edit",
            "session.tools.t_edit",
        ]
        decision = again.permissions.explain("t_edit", {})
        assert (decision.rule, decision.effect) == ("session.tools.t_edit", "allow")


async def test_grants_allow_what_would_be_asked_and_never_what_is_denied(opened, model):
    rules = Rules(tools={"t_mcp": "deny"})
    async with opened(agent=Agent("x", tools=tools()), permissions=rules) as harness:
        session = await harness.session()
        assert await outcome(session, model, "t_execute") == "ask"
    async with opened(agent=Agent("x", tools=tools()), permissions=rules) as harness:
        session = await harness.session()
        await session.permissions.grant_category("execute")
        await session.permissions.grant_tool("t_other")
        await session.permissions.grant_category("mcp")
        assert session.permissions.grants == {
            "categories": ["execute", "mcp"],
            "tools": ["t_other"],
            "patterns": [],
        }
        for name, effect in (("t_execute", "allow"), ("t_other", "allow"), ("t_mcp", "deny")):
            assert session.permissions.explain(name, {}).effect == effect


async def test_names_that_are_not_there_are_refused(opened):
    async with opened(agent=Agent("x", tools=tools())) as harness:
        session = await harness.session()
        with pytest.raises(UserError, match="Did you mean 'execute'"):
            await session.permissions.set_category("exceute", "allow")
        with pytest.raises(UserError, match="Unknown"):
            await session.permissions.set_tool("t_edit", "maybe")
        with pytest.raises(UserError, match="Unknown category"):
            await session.permissions.grant_category("all")
        assert session.permissions.category_of("t_edit") == "edit"
        assert session.permissions.category_of("nothing") is None


async def test_approve_decline_and_always_allow_a_category(opened, model):
    model.plays(calls("t_edit"), calls("t_edit"), calls("t_edit"), calls("t_edit"), says("end"))
    async with opened(agent=Agent("x", tools=tools())) as harness:
        session = await harness.session()
        result = await session.send("go")
        await session.approve(result.pending[0].id)
        result = await session.wait(result.run_id)
        await session.decline(result.pending[0].id, "not now")
        result = await session.wait(result.run_id)
        await session.always_allow(result.pending[0].id)
        result = await session.wait(result.run_id)
        assert result.text == "end"  # the fourth was not asked
        ends = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
        assert [e.denied for e in ends] == [False, True, False, False]
        assert "not now" in ends[1].result
        assert session.permissions.grants["categories"] == ["edit"]


async def test_rules_that_several_processes_set_are_all_kept(opened, tmp_path):
    store = f"sqlite:////{tmp_path}/shared.db"
    names = [f"tool_{number}" for number in range(12)]
    async with opened(store=store) as one, opened(store=store) as other:
        sessions = [await one.session("r"), await other.session("r")]
        assert sessions[0].thread_id == sessions[1].thread_id
        async with anyio.create_task_group() as tasks:
            for number, name in enumerate(names):
                chosen = sessions[number % 2].permissions
                tasks.start_soon(chosen.set_tool, name, "deny")
        async with opened(store=store) as third:
            rules = (await third.session("r")).permissions.rules
        assert {rule.matches for rule in rules if rule.layer == "session"} == set(names)
