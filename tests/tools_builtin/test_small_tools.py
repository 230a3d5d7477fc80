from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from bridle import Agent, Harness, Rules, Workspace
from bridle.app.config import Ports
from bridle.ports.clock import SystemClock
from bridle.testing import ScriptedModel, calls, says
from bridle.types.base import Moving
from tools_builtin.conftest import results

pytestmark = pytest.mark.anyio


class Ticking(SystemClock):
    """A clock that tells what was slept, and does not sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await anyio.sleep(0)


async def play(opened, model, tools, *items, **options):
    model.plays(*items, says("done"))
    async with opened(tools=tools, **options) as harness:
        session = await harness.session()
        await session.send("go")
        return await harness.store.events(session.thread_id)


async def test_notify_is_an_event_that_replays(opened, model):
    events = await play(opened, model, ["notify"], calls("notify", message="half way"))
    (noted,) = [e for e in events if e.type == "info"]
    (ended,) = results(events)
    assert (noted.code, noted.text, noted.call_id) == ("notify", "half way", ended.call_id)


async def test_notify_and_sleep_are_not_asked_about(opened, model):
    clock = Ticking()
    events = await play(
        opened, model, ["notify", "sleep"],
        calls("notify", message="x"), calls("sleep", seconds=5), calls("sleep", seconds=1e9),
        permissions=Rules(), ports=Ports(clock=clock),
    )  # fmt: skip
    assert [result.is_error for result in results(events)] == [False, False, True]
    assert 5.0 in clock.slept


async def test_a_sleep_is_cut_by_an_abort(opened, model):
    model.plays(calls("sleep", seconds=3000), says("never"))
    async with opened(tools=["sleep"]) as harness:
        session = await harness.session()
        async with session.start("go") as run:
            async for event in run.events():
                if event.type == "permission_decided":
                    await session.abort()
            result = run.result
    assert result.reason == "user_interrupt"


async def test_settings_are_read_and_changed_and_stay(opened, model):
    model.plays(
        calls("get_setting", key="theme"),
        calls("update_setting", key="theme", value={"dark": True}),
        calls("get_setting", key="theme"),
        calls("update_setting", key="permissions", value=[]),
        calls("get_setting"),
        says("done"),
    )
    async with opened(tools=["get_setting", "update_setting"]) as harness:
        session = await harness.session()
        await session.threads.settings.set("lang", "fr")
        await session.send("go")
        assert await session.threads.settings.get("theme") == {"dark": True}
        await session.threads.settings.set("theme", "light")
        model.plays(calls("get_setting", key="theme"), says("ok"))
        await session.send("again")
        events = await harness.store.events(session.thread_id)
    told = results(events)
    assert told[0].kind == "not_found"
    assert json.loads(told[2].result) == {"theme": {"dark": True}}
    assert told[3].kind == "reserved"
    assert json.loads(told[4].result) == {"lang": "fr", "theme": {"dark": True}}
    assert json.loads(told[5].result) == {"theme": "light"}
    changed = [e for e in events if e.type == "settings_changed"]
    assert [e.key for e in changed] == ["lang", "theme", "theme"]


async def test_a_settings_change_is_asked_about(opened, model):
    model.plays(calls("update_setting", key="a", value=1))
    async with opened(tools=["update_setting"], permissions=Rules()) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert [pending.tool for pending in result.pending] == ["update_setting"]
        await session.abort()


async def test_the_context_is_told_by_its_parts(opened, model, root: Path):
    (root / "big.txt").write_text("word " * 400)
    events = await play(
        opened, model, (),
        calls("read_file", path="big.txt"), calls("inspect_context"),
        agent=Agent("You help.\n\n# AGENTS.md\nBe short.", tools=["inspect_context"]),
    )  # fmt: skip
    told = json.loads(results(events)[1].result)
    assert told["files"]["big.txt"] > 300
    assert told["instructions"] == ["AGENTS.md"]
    tokens = told["tokens"]
    assert tokens["total"] == tokens["system"] + tokens["tools"] + sum(tokens["messages"].values())
    assert tokens["estimated"] is True  # nobody has the tokenizer of a script
    assert set(tokens["messages"]) == {"user", "assistant", "tool"}
    assert "read_file" in told["tools"]


async def test_an_earlier_call_is_traced(opened, model, root: Path):
    rules = Rules(tools={"bash": "deny", "trace_tool_call": "allow"})
    events = await play(
        opened, model, ["trace_tool_call"],
        calls("bash", command="ls"), calls("glob", pattern="*"),
        calls("trace_tool_call", tool="bash"), calls("trace_tool_call"),
        calls("trace_tool_call", call_id="nothing"),
        permissions=rules,
    )  # fmt: skip
    told = results(events)
    bash, last = json.loads(told[2].result), json.loads(told[3].result)
    assert bash["decisions"][0]["effect"] == "deny"
    assert bash["decisions"][0]["trace"]
    assert bash["result"]["denied"] is True
    assert last["tool"] == "trace_tool_call"
    assert last["result"]["duration_ms"] >= 0
    assert told[4].is_error


class Asked(Moving):
    """A harness on a file, so that another process could answer."""

    path: Path
    root: Path

    def harness(self, model: ScriptedModel, **options) -> Harness:
        return Harness(
            id="asked",
            store=f"sqlite:///{self.path}",
            agent=Agent("You help.", tools=["request_permission"]),
            resolve_model=lambda _id: model,
            workspace=Workspace(self.root),
            **options,
        )


@pytest.mark.parametrize(
    ("asks", "call"),
    [
        ({"pattern": "bash(touch:*)"}, calls("bash", command="touch made")),
        ({"tool": "write_file"}, calls("write_file", path="made", content="x")),
        ({"category": "edit"}, calls("write_file", path="made", content="x")),
    ],
)
async def test_a_grant_is_asked_for_and_recorded(
    opened, model, root: Path, asks: dict, call
) -> None:
    model.plays(calls("request_permission", reason="to build", **asks), call, says("done"))
    async with opened(
        tools=["request_permission"], permissions=Rules(tools={"request_permission": "allow"})
    ) as harness:
        session = await harness.session()
        result = await session.send("go")
        (pending,) = result.pending
        assert pending.kind == "approval"
        assert "to build" in pending.card["title"]
        run_id = await session.approve(pending.id)
        result = await session.wait(run_id)
        assert result.reason == "end_turn"
        events = await harness.store.events(session.thread_id)
    assert (root / "made").exists()
    (granted,) = [e for e in events if e.type == "permission_granted"]
    assert granted.matches == next(iter(asks.values()))


async def test_a_grant_that_is_declined_changes_nothing(opened, model, root: Path):
    model.plays(
        calls("request_permission", reason="r", tool="bash"), calls("bash", command="touch made")
    )
    async with opened(tools=["request_permission"], permissions=Rules()) as harness:
        session = await harness.session()
        result = await session.send("go")
        run_id = await session.decline(result.pending[0].id, reason="no")
        result = await session.wait(run_id)
        assert [pending.tool for pending in result.pending] == ["bash"]
        await session.abort()
    assert not (root / "made").exists()


async def test_a_grant_can_be_answered_by_another_process(model, tmp_path: Path, root: Path):
    asked = Asked(tmp_path / "asked.db", root)
    model.plays(calls("request_permission", reason="r", tool="write_file"), says("granted"))
    async with asked.harness(model) as first:
        session = await first.session()
        result = await session.send("go")
        thread, pending = session.thread_id, result.pending[0].id
    async with asked.harness(model) as second:
        session = await second.session(thread_id=thread)
        assert [row.id for row in await second.store.pending()] == [pending]
        result = await session.wait(await session.approve(pending))
        assert result.text == "granted"
        assert session.permissions.grants["tools"] == ["write_file"]


async def test_where_nobody_answers_a_grant_is_refused_with_the_reason(opened, model):
    from bridle.permissions.compile import policy_of

    policy = policy_of(Rules(profile="yolo"), answerable=False)
    events = await play(
        opened, model, ["request_permission"],
        calls("request_permission", reason="r", tool="bash"), permissions=policy,
    )  # fmt: skip
    (told,) = results(events)
    assert told.denied
    assert "nobody can answer" in told.result


async def test_what_cannot_be_granted_is_told_before_anybody_is_asked(opened, model):
    events = await play(
        opened, model, ["request_permission"],
        calls("request_permission", reason="r"),
        calls("request_permission", reason="r", tool="bash", category="edit"),
        calls("request_permission", reason="r", category="everything"),
        calls("request_permission", reason=" ", tool="bash"),
    )  # fmt: skip
    assert [result.kind for result in results(events)] == ["invalid_arguments"] * 4
    assert not [e for e in events if e.type == "tool_approval_required"]


async def test_a_sleep_that_is_run_again_waits_for_what_is_left():
    from bridle.ports.clock import iso
    from bridle.ports.tools import CallScope
    from bridle.tools.builtin.sleep import sleep_tool

    clock = Ticking()
    for ago, left in ((100.0, 200.0), (1000.0, 0.0)):
        scope = CallScope(
            thread_id="thr", run_id="run", call_id="run.1.0", repeated=True, clock=clock,
            started_at=iso(clock.now() - ago),
        )  # fmt: skip
        await sleep_tool().execute({"seconds": 300}, scope)
        assert abs(clock.slept[-1] - left) < 60
