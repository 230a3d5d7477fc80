"""The request's context reaches tools and children however it comes; pinned texts stay."""

from __future__ import annotations

from typing import Any

import pytest

from bridle import Agent, Harness, Rules, Subagent, ToolContext, UserError, tool
from bridle.ports.tools import Suspended
from bridle.testing import ScriptedModel, calls, says


def noting(seen):
    @tool
    async def note(ctx: ToolContext[Any]) -> str:
        """Note the context."""
        seen.append(dict(ctx.values))
        return "noted"

    return note


ALLOWED = Rules(tools={"note": "allow", "waits": "allow"})


async def test_send_start_and_follow_up(opened, model):
    seen: list[Any] = []
    model.plays(calls("note"), says("a"), calls("note"), says("b"), calls("note"), says("c"))
    async with opened(agent=Agent("x", tools=[noting(seen)]), permissions=ALLOWED) as harness:
        session = await harness.session()
        await session.send("x", context={"user": "ann"})
        await session.start("x", context={"user": "bob"})
        await session.wait(await session.follow_up("x", context={"user": "cyd"}))
        assert seen == [{"user": "ann"}, {"user": "bob"}, {"user": "cyd"}]


async def test_each_answer_brings_more_of_it(opened, model):
    seen: list[Any] = []

    @tool
    async def ask_first() -> str:
        """Needs an approval."""
        return "ok"

    @tool
    async def waits(ctx: ToolContext[Any]) -> Any:
        """Wait for something."""
        if ctx.scope.resumed is None:
            return Suspended(id="thing_1", kind="tool", payload={})
        seen.append(dict(ctx.values))
        return "resumed"

    model.plays(
        calls("ask_first"),
        calls("note"),
        calls("ask_first"),
        calls("note"),
        calls("ask_user", question="?"),
        calls("note"),
        calls("submit_plan", plan="p"),
        calls("note"),
        calls("waits"),
        calls("ask_first"),
        calls("note"),
        says("end"),
    )
    agent = Agent("x", tools=[noting(seen), ask_first, waits])
    async with opened(agent=agent, permissions=ALLOWED) as harness:
        session = await harness.session()
        result = await session.send("x", context={"at": 0, "from": "send"})

        async def pending():
            return (await session.wait(result.run_id)).pending[0].id

        await session.approve(await pending(), context={"at": 1})
        await session.decline(await pending(), context={"at": 2})
        await session.answer(await pending(), "yes", context={"at": 3})
        await session.answer_plan(await pending(), True, context={"at": 4})
        await session.resume_tool(await pending(), "data", context={"at": 5})
        await session.always_allow(await pending(), "tool", context={"at": 6})
        assert (await session.wait(result.run_id)).text == "end"
        assert [values["at"] for values in seen] == [1, 2, 3, 4, 5, 6]
        assert {values["from"] for values in seen} == {"send"}


async def test_a_steer_brings_it_too_and_children_inherit_it(opened, model):
    seen: list[Any] = []

    model.plays(calls("ask_user", question="?"))
    kid = Subagent("kid", instructions="kid", allowed_tools=["note"])
    agent = Agent("x", tools=[noting(seen)])
    async with opened(agent=agent, subagents=[kid], permissions=ALLOWED) as harness:
        session = await harness.session()
        result = await session.send("x", context={"user": "ann"})
        await session.steer("hurry", context={"urgent": True})
        model.plays(
            calls("note"),
            calls("subagent", agent_type="kid", task="t"),
            calls("note"),
            says("kid"),
            says("end"),
        )
        await session.answer(result.pending[0].id, "go")
        assert (await session.wait(result.run_id)).text == "end"
        assert seen == [{"user": "ann", "urgent": True}] * 2


async def test_it_survives_a_restart(tmp_path):
    seen: list[Any] = []
    model = ScriptedModel([calls("ask_user", question="?")])

    def harness():
        return Harness(
            store=f"sqlite:///{tmp_path}/s.db",
            agent=Agent("x", tools=[noting(seen)]),
            permissions=ALLOWED,
            resolve_model=lambda _id: model,
        )

    async with harness() as first:
        session = await first.session()
        result = await session.send("x", context={"user": "ann"})
        await session.pin("Be brief.")
    model.plays(calls("note"), says("end"))
    async with harness() as second:
        session = await second.session()
        await session.answer(result.pending[0].id, "go", context={"more": 1})
        assert (await session.wait(result.run_id)).text == "end"
    assert seen == [{"user": "ann", "more": 1}]
    texts = [m.text for m in model.requests[-1].messages]
    assert "Be brief." in texts


async def test_a_pin_is_in_every_request_from_then_on(opened, model):
    from bridle.models.packs import Tuning, tune

    def short(name: str) -> Tuning:
        import msgspec

        return msgspec.structs.replace(tune(name), history=3)

    model.plays(*[says(f"a{n}") for n in range(6)])
    async with opened(tuning=short) as harness:
        session = await harness.session()
        await session.send("q0")
        await session.pin("Never touch the release branch.")
        assert [m.text for m in await session.threads.messages()][-1] == (
            "Never touch the release branch."
        )
        assert len(model.requests) == 1  # it starts no run
        for number in range(1, 6):
            await session.send(f"q{number}")
        for request in model.requests[1:]:
            said = [m.text for m in request.messages]
            assert said.count("Never touch the release branch.") == 1
        assert "q1" not in [m.text for m in model.requests[-1].messages]  # others are left out
        clone = await session.threads.clone()
        model.plays(says("b"), says("c"), says("d"))
        for number in range(3):
            await session.send(f"r{number}")
        assert clone.id == session.thread_id
        said = [m.text for m in model.requests[-1].messages]
        assert said.count("Never touch the release branch.") == 1
        events = await harness.store.events(clone.id)
        assert any(e.type == "message_end" and e.message.pinned for e in events)
        with pytest.raises(UserError, match="nothing to pin"):
            await session.pin("  ")


async def test_a_pin_keeps_the_prefix_and_is_heard_within_a_run(opened, model):
    model.plays(says("one"), calls("ask_user", question="?"), says("end"))
    async with opened() as harness:
        session = await harness.session()
        await session.send("x")
        result = await session.send("y")
        await session.pin("Mind the gap.")
        await session.answer(result.pending[0].id, "ok")
        assert (await session.wait(result.run_id)).text == "end"
        before, after = model.requests[-2].messages, model.requests[-1].messages
        assert list(after[: len(before)]) == list(before)
        assert after[-1].text == "Mind the gap."
        assert model.requests[-2].system == model.requests[-1].system
        kinds = [e.type for e in await harness.store.events(session.thread_id)]
        assert "prefix_broken" not in kinds


async def test_a_context_that_cannot_be_recorded_is_refused(opened):
    async with opened() as harness:
        session = await harness.session()
        with pytest.raises(UserError, match="cannot be recorded"):
            await session.send("x", context={"connection": object()})
        assert await session.threads.messages() == ()
