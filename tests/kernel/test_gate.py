"""The one door: a batch is decided as a whole, runs within bounds, each call has one answer."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle import Rules, tool
from bridle.errors import AnswerError
from bridle.gate.batch import Concurrency, runnable
from bridle.journal.calls import CallState
from bridle.testing import ScriptedModel, calls, says
from bridle.tools.output import MAX_CHARACTERS
from bridle.types.content import ToolCall
from bridle.types.ops import Approve
from bridle.types.tools import CATEGORIES, CallFacts
from support.kernel import check_log, make_harness
from support.outline import only, outline


class Crowd:
    """Tools that tell how many of them were running at once."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.most = 0
        self.most_of: dict[str, int] = {}
        self.order: list[str] = []

    def make(self, name: str, *, category: str, safe: bool) -> Any:
        @tool(name=name, category=category, read_only=safe, concurrency_safe=safe, description="x")
        async def run(n: int = 0) -> str:
            assert safe or not self.running, "a call that is not safe runs alone"
            self.running.append(name)
            self.order.append(f"{name}{n}")
            self.most = max(self.most, len(self.running))
            of = self.running.count(name)
            self.most_of[name] = max(self.most_of.get(name, 0), of)
            for _ in range(5):
                await anyio.sleep(0.001)
            self.running.remove(name)
            return f"{name}{n}"

        return run


async def test_five_calls_run_at_once_and_three_of_a_category(opened: Any) -> None:
    crowd = Crowd()
    tools = [
        crowd.make("read", category="read", safe=True),
        crowd.make("fetch", category="mcp", safe=True),
        crowd.make("other", category="other", safe=True),
    ]
    names = [(t, n) for t in ("read", "fetch", "other") for n in range(6)]
    batch = [calls(t, n=n) for t, n in names]
    model = ScriptedModel([batch, says("done")])
    harness = await opened(model, tools)
    session = await harness.session()
    await session.send("go")
    assert crowd.most == 5
    assert max(crowd.most_of.values()) == 3
    results = model.requests[1].messages[-1].parts
    assert [p.text for p in results] == [f"{t}{n}" for t, n in names]


async def test_a_call_that_is_not_safe_never_overtakes(opened: Any) -> None:
    crowd = Crowd()
    tools = [
        crowd.make("read", category="read", safe=True),
        crowd.make("write", category="edit", safe=False),
    ]
    names = ["read", "read", "write", "read", "write", "write", "read"]
    model = ScriptedModel([[calls(t, n=n) for n, t in enumerate(names)], says("done")])
    harness = await opened(model, tools)
    session = await harness.session()
    await session.send("go")
    assert sorted(crowd.order[:2]) == ["read0", "read1"]
    assert crowd.order[2:] == ["write2", "read3", "write4", "write5", "read6"]


def facts(category: str, *, safe: bool) -> CallFacts:
    return CallFacts(category=category, concurrency_safe=safe)  # type: ignore[arg-type]


states = st.builds(
    lambda category, safe, stage: (facts(category, safe=safe), stage),
    st.sampled_from(CATEGORIES),
    st.booleans(),
    st.sampled_from(["decided", "decided", "asked", "suspended", "settled"]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(states, max_size=10), st.integers(1, 5), st.integers(1, 3))
def test_what_may_run_is_within_bounds_and_in_order(
    drawn: list[Any], most: int, per_category: int
) -> None:
    batch = [
        CallState(ToolCall(f"c.{n}", "t", {}), f, n, stage=stage)
        for n, (f, stage) in enumerate(drawn)
    ]
    ready = runnable(batch, Concurrency(max=most, per_category=per_category))
    assert len(ready) <= most
    for category in CATEGORIES:
        assert sum(c.facts.category == category for c in ready) <= per_category
    assert [c.index for c in ready] == sorted(c.index for c in ready)
    for call in ready:
        assert call.stage == "decided"
        if not call.facts.concurrency_safe:
            assert len(ready) == 1
            assert all(before.settled for before in batch[: call.index])
    open_calls = [c for c in batch if not c.settled]
    if open_calls and not any(c.waiting for c in open_calls):
        assert ready, "something can always run when nothing waits"


@tool(category="read", read_only=True, concurrency_safe=True)
async def look(name: str = "") -> str:
    """Look."""
    return f"saw {name}"


@tool(category="execute")
async def act(name: str = "") -> str:
    """Act."""
    return f"did {name}"


async def test_all_that_is_asked_is_asked_together_before_anything_runs(opened: Any) -> None:
    batch = [calls("act", name="a"), calls("look"), calls("act", name="b")]
    harness = await opened(ScriptedModel([batch, says("done")]), [look, act], permissions=Rules())
    session = await harness.session()
    result = await session.send("go")
    events = await session.run_events(result.run_id)
    assert outline(events)[3:] == [
        "tool_start act",
        "permission_decided ask",
        "tool_approval_required",
        "tool_start look",
        "permission_decided allow",
        "tool_start act",
        "permission_decided ask",
        "tool_approval_required",
        "tool_end",
        "agent_paused",
    ]
    assert [p.args for p in result.pending] == [{"name": "a"}, {"name": "b"}]


async def test_a_denied_call_is_answered_not_run(opened: Any) -> None:
    model = ScriptedModel([calls("act", name="x"), says("understood")])
    harness = await opened(model, [act], permissions=Rules(tools={"act": "deny"}))
    session = await harness.session()
    result = await session.send("clean up")
    events = await session.run_events(result.run_id)
    assert outline(events) == [
        "agent_start",
        "message_end user",
        "message_end assistant tool_use",
        "tool_start act",
        "permission_decided deny",
        "tool_end denied",
        "message_end assistant end_turn",
        "agent_end end_turn",
    ]
    (end,) = [e for e in events if e.type == "tool_end"]
    assert (end.is_error, end.denied) == (True, True)
    assert "Denied by harness:tools.act" in end.result
    assert model.requests[1].messages[-1].parts[0].is_error


async def asked(opened: Any, *, more: Any = (), **rules: Any) -> tuple[Any, Any, Any, Any]:
    model = ScriptedModel([calls("act", name="x"), *more, says("done")])
    harness = await opened(model, [act, look], permissions=Rules(**rules))
    session = await harness.session()
    result = await session.send("go")
    (pending,) = result.pending
    return harness, session, result, pending


async def test_a_declined_call_is_visible_as_such(opened: Any) -> None:
    _, session, result, pending = await asked(opened)
    await session.decline(pending.id, "not today")
    result = await session.wait(result.run_id)
    events = await session.run_events(result.run_id)
    assert only(events, "tool_approval_answered", "tool_end") == [
        "tool_approval_answered declined",
        "tool_end denied",
    ]
    (end,) = [e for e in events if e.type == "tool_end"]
    assert end.is_error
    assert end.result == "The user declined this call: not today."
    assert result.reason == "end_turn"


async def test_changed_arguments_are_run_and_told(opened: Any) -> None:
    harness, session, result, pending = await asked(opened)
    await session.approve(pending.id, args={"name": "something milder"})
    result = await session.wait(result.run_id)
    events = await session.run_events(result.run_id)
    assert [e.result for e in events if e.type == "tool_end"] == ["did something milder"]
    assert only(events, "permission_decided") == ["permission_decided ask"] * 2
    check_log(await harness.store.events(session.thread_id))


async def test_an_answer_that_cannot_have_its_effect_leaves_the_approval_open(opened: Any) -> None:
    _, session, result, pending = await asked(opened)
    with pytest.raises(AnswerError, match=r"(?s)Invalid arguments for act.*still waits"):
        await session.approve(pending.id, args={"name": 3, "force": True})
    with pytest.raises(AnswerError, match="No pattern describes this call; have tool, category"):
        await session.always_allow(pending.id, scope="pattern")
    assert [p.id for p in session.pending] == [pending.id]
    await session.approve(pending.id, args={"name": "milder"})
    await session.wait(result.run_id)
    events = await session.run_events(result.run_id)
    assert [e.result for e in events if e.type == "tool_end"] == ["did milder"]


async def test_changed_arguments_are_validated_where_they_are_run_too(opened: Any) -> None:
    """An answer may come from a process that does not know the tool."""
    _, session, result, pending = await asked(opened)
    op = Approve(id=pending.id, args={"name": 3, "force": True})
    await session._attachment.inbox.admit(op)
    result = await session.wait(result.run_id)
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert (end.is_error, end.kind) == (True, "invalid_arguments")


async def test_changed_arguments_are_decided_again_and_a_deny_wins(opened: Any) -> None:
    """The category depends on the arguments, and the category of the new ones is denied."""

    @tool(category=lambda args: "edit" if args.get("name") == "edit" else "execute")
    async def act(name: str = "") -> str:
        """Act by name."""
        return f"did {name}"

    model = ScriptedModel([calls("act", name="x"), says("done")])
    harness = await opened(model, [act], permissions=Rules(categories={"edit": "deny"}))
    session = await harness.session()
    result = await session.send("go")
    await session.approve(result.pending[0].id, args={"name": "edit"})
    result = await session.wait(result.run_id)
    events = await session.run_events(result.run_id)
    assert only(events, "permission_decided", "tool_approval_answered", "tool_end") == [
        "permission_decided ask",
        "permission_decided deny",
        "tool_approval_answered declined",
        "tool_end denied",
    ]


async def test_always_allow_grants_the_category_for_the_session_only(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    model = ScriptedModel([calls("act", name="x"), calls("act", name="y"), says("done")])
    async with make_harness(place, model, [act, look], permissions=Rules()) as harness:
        session = await harness.session()
        result = await session.send("go")
        await session.always_allow(result.pending[0].id)
        result = await session.wait(result.run_id)
        assert result.reason == "end_turn"
        events = await session.run_events(result.run_id)
    decided = [(e.effect, e.rule) for e in events if e.type == "permission_decided"]
    assert [effect for effect, _ in decided] == ["ask", "allow"]
    assert "execute" in decided[1][1]
    assert only(events, "permission_granted") == ["permission_granted"]
    # another process of the same user does not take the grant over
    from support.mortal import stranger

    model = ScriptedModel([calls("act", name="z")])
    async with make_harness(place, model, [act, look], permissions=Rules()) as other:
        other._engine.dispatcher.drain.owner = stranger()
        again = await other.session(thread_id=session.thread_id)
        result = await again.send("more")
        assert result.reason == "awaiting"


async def test_always_allow_a_tool_does_not_grant_its_category(opened: Any) -> None:
    @tool(category="execute")
    async def other() -> str:
        """Another one."""
        return "other"

    script = [calls("act"), calls("act", name="y"), calls("other"), says("done")]
    harness = await opened(ScriptedModel(script), [act, other], permissions=Rules())
    session = await harness.session()
    result = await session.send("go")
    await session.always_allow(result.pending[0].id, scope="tool")
    result = await session.wait(result.run_id)
    assert [p.tool for p in result.pending] == ["other"]


async def test_a_call_that_takes_too_long_is_stopped_and_told(opened: Any) -> None:
    @tool(category="read", read_only=True, timeout=0.05)
    async def slow() -> str:
        """Take long."""
        await anyio.sleep(30)
        return ""

    harness = await opened(ScriptedModel([calls("slow"), says("done")]), [slow])
    session = await harness.session()
    result = await session.send("go")
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert (end.is_error, end.kind) == (True, "tool_timeout")
    assert "within 0.05 s" in end.result


async def test_a_long_output_is_cut_and_kept_whole(opened: Any, tmp_path: Path) -> None:
    @tool(category="read", read_only=True)
    async def shout() -> str:
        """Say much."""
        return "a" * 50_000 + "b" * 50_000

    harness = await opened(ScriptedModel([calls("shout"), says("done")]), [shout])
    session = await harness.session()
    result = await session.send("go")
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert len(end.result) < MAX_CHARACTERS + 200
    assert end.result.startswith("aaa")
    assert end.result.endswith("bbb")
    assert f"artefact {end.artefact}" in end.result
    kept = (tmp_path / "artefacts" / end.artefact).read_text()
    assert kept == "a" * 50_000 + "b" * 50_000


async def test_an_output_that_cannot_be_kept_is_still_a_result(opened: Any, tmp_path: Path) -> None:
    @tool(category="read", read_only=True)
    async def shout() -> str:
        """Say much."""
        return "x" * 100_000

    (tmp_path / "artefacts").write_text("a file where the directory should be")
    harness = await opened(ScriptedModel([calls("shout"), says("done")]), [shout])
    session = await harness.session()
    result = await session.send("go")
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert (result.reason, end.artefact) == ("end_turn", None)
    assert "could not be kept" in end.result


async def test_an_attribute_that_raises_is_a_problem_of_the_call(opened: Any) -> None:
    @tool(category=lambda args: args["missing"])
    async def odd(name: str = "") -> str:
        """Odd."""
        return "x"

    harness = await opened(ScriptedModel([calls("odd"), says("done")]), [odd])
    session = await harness.session()
    result = await session.send("go")
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert (end.is_error, result.reason) == (True, "end_turn")
    assert "cannot tell what this call would do" in end.result


@pytest.mark.parametrize("first", ["approve", "decline"])
async def test_only_the_first_answer_counts(opened: Any, first: str) -> None:
    _, session, result, pending = await asked(opened)
    one, other = (
        (session.approve, session.decline)
        if first == "approve"
        else (session.decline, session.approve)
    )
    await one(pending.id)
    with contextlib.suppress(AnswerError):
        await other(pending.id)
    result = await session.wait(result.run_id)
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert end.denied == (first == "decline")
