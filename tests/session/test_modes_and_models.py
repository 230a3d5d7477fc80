from __future__ import annotations

import pytest

from bridle import Agent, Mode, UserError, tool
from bridle.testing import calls, says


@tool(category="read", read_only=True)
async def look() -> str:
    """Look."""
    return "seen"


PLAN = Mode("plan", Agent("plan"), default=True, transitions_to="build", model="x/planner")
BUILD = Mode("build", Agent("build", tools=[look]), model="x/builder", color="#fff")


async def test_an_approved_plan_goes_on_in_the_next_mode_by_itself(opened, model):
    model.plays(calls("submit_plan", plan="do it"), calls("look"), says("built"))
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert [p.kind for p in result.pending] == ["plan"]
        run_id = await session.answer_plan(result.pending[0].id, True)
        result = await session.wait(run_id)
        assert result.text == "built"
        assert session.modes.current.id == "build"
        assert [request.system for request in model.requests] == ["plan", "build", "build"]
        kinds = [e.type for e in await session.run_events(run_id)]
        assert kinds.index("plan_approved") < kinds.index("mode_changed")
        assert kinds.index("mode_changed") < kinds.index("model_changed")
        assert "prefix_broken" in kinds


async def test_a_rejected_plan_is_revised_in_the_same_mode(opened, model):
    model.plays(calls("submit_plan", plan="bad"), says("better"))
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        result = await session.send("go")
        await session.answer_plan(result.pending[0].id, False, feedback="more tests")
        result = await session.wait(result.run_id)
        assert result.text == "better"
        assert session.modes.current.id == "plan"
        assert "more tests" in model.requests[-1].messages[-1].parts[0].text


async def test_each_mode_remembers_its_model_in_the_thread(opened, model):
    model.plays(says("one"))
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        assert [(m.id, m.color) for m in session.modes.list] == [("plan", None), ("build", "#fff")]
        await session.models.switch("x/other")
        await session.modes.switch("build")
        assert session.models.current == "x/builder"
        await session.modes.switch("plan")
        assert session.models.current == "x/other"
        again = await harness.session(thread_id=session.thread_id)
        assert again.models.current == "x/other"
        assert again.models.name == "other"
        events = await harness.store.events(session.thread_id)
        moves = [(e.previous_mode_id, e.mode_id) for e in events if e.type == "mode_changed"]
        assert moves == [("plan", "build"), ("build", "plan")]
        result = await session.send("hi")
        events = await session.run_events(result.run_id)
        assert events[0].model_id == "x/other"


async def test_a_model_for_the_session_is_not_kept_with_the_thread(opened, model):
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        await session.models.switch("x/brief", scope="session")
        assert session.models.current == "x/brief"
        again = await harness.session(thread_id=session.thread_id)
        assert again.models.current == "x/planner"


async def test_an_unknown_mode_is_refused_with_the_nearest_name(opened):
    async with opened(modes=[PLAN, BUILD]) as harness:
        session = await harness.session()
        with pytest.raises(UserError, match="Did you mean 'build'"):
            await session.modes.switch("biuld")
        assert session.modes.current.id == "plan"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": []}, "one of the two"),
        ({"modes": [PLAN, PLAN]}, "two modes"),
        ({"modes": [PLAN, Mode("b", Agent("b"), default=True)]}, "Only one mode"),
        ({"modes": [Mode("a", Agent("a"), transitions_to="b")]}, "Unknown mode"),
        ({"modes": [PLAN, BUILD], "disable_builtin_tools": ["ask"]}, "Unknown built-in tool"),
    ],
)
async def test_wrong_combinations_are_refused_at_construction(opened, options, message):
    with pytest.raises(UserError, match=message):
        async with opened(**options):
            pass


async def test_the_agent_can_be_a_function_of_the_state(opened, model):
    model.plays(says("a"), says("b"))
    mode = Mode("m", lambda ctx: Agent(f"level {ctx.state['level']}"))
    async with opened(modes=[mode]) as harness:
        session = await harness.session()
        await session.state.set(level=1)
        await session.send("x")
        await session.state.set(level=2)
        await session.send("y")
        assert [r.system for r in model.requests] == ["level 1", "level 2"]


async def test_a_run_that_begins_its_requests_differently_says_what_changed(opened, model):
    model.plays(says("a"), says("b"), says("c"))
    mode = Mode("m", lambda ctx: Agent(f"level {ctx.state.get('level')}"))
    async with opened(modes=[mode]) as harness:
        session = await harness.session()
        first = await session.send("x")
        again = await session.send("y")
        await session.state.set(level=2)
        third = await session.send("z")
        broken = [
            [e.cause for e in await session.run_events(r.run_id) if e.type == "prefix_broken"]
            for r in (first, again, third)
        ]
        assert broken == [[], [], ["system"]]
