"""The code blocks of the contract, written as one program."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import bridle
from bridle import (
    Agent,
    Harness,
    Heartbeat,
    Limits,
    Mode,
    Ports,
    Rules,
    RunResult,
    Subagent,
    ToolContext,
    Workspace,
    tool,
)
from bridle.testing import ScriptedModel, calls, says


@tool(category="read", read_only=True, concurrency_safe=True)
async def word_count(path: str, ctx: ToolContext[Any]) -> int:
    """Count the words of a file."""
    return len(Path(path).read_text().split())


class MyState(msgspec.Struct):
    level: int = 0


PARTS = {
    "events": "subscribe replay subscribe_display",
    "threads": "current create switch list rename clone delete messages first_user_message "
    "settings",
    "modes": "list current switch",
    "models": "current name selected switch available auth_status",
    "state": "get set update",
    "permissions": "rules grants set_category set_tool grant_category grant_tool category_of "
    "explain",
    "tasks": "list restore",
    "subagents": "model_for set_model",
    "workspace": "get resolve ready configured destroy",
    "checkpoints": "list undo restore",
}
"""Parts of a session and their members; `observations` is not here yet."""


def whole(model: ScriptedModel, **more: Any) -> Harness:
    """The long form, every argument of it."""
    planner: Agent[Any, Any] = Agent(instructions="plan", name="planner", tools=[word_count])
    builder: Agent[Any, Any] = Agent(instructions="build", tools=[word_count])
    return Harness(
        id="my-coding-agent",
        store="sqlite:///data.db",
        state=MyState,
        resource_id=None,
        modes=[
            Mode("plan", name="Plan", agent=planner, default=True, transitions_to="build",
                 model="anthropic/claude-sonnet-4-5", color="#7c3aed"),
            Mode("build", agent=lambda _ctx: builder),
        ],
        tools=[word_count],
        workspace=Workspace("."),
        subagents=[
            Subagent("explore", name="Explore", description="looks", instructions="Look.",
                     tools=[word_count], allowed_tools=["read_file"],
                     allowed_workspace_tools=None, model="anthropic/claude-haiku-4-5",
                     max_steps=50, stop_when=None, forked=False),
        ],
        permissions=Rules(
            profile="balanced",
            categories={"execute": "ask"},
            tools={"write_file": "allow"},
            patterns=[("bash(git status:*)", "allow")],
            yolo=False,
        ),
        limits=Limits(max_steps=1000, max_usd=2.0, max_tokens=None, timeout=1800),
        resolve_model=lambda _model_id: model,
        disable_builtin_tools=["web_search"],
        model_auth=lambda _provider: True,
        model_use_counts={},
        tool_category=lambda _name: None,
        ports=Ports(),
        **more,
    )  # fmt: skip


async def test_the_long_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("one two three")
    model = ScriptedModel([calls("word_count", path="a.txt"), says("three words"), says("built")])
    beats: list[object] = []
    health = Heartbeat(
        "health", interval=30, handler=lambda *_: beats.append(1), immediate=True, shutdown=None
    )
    async with whole(model, heartbeats=[health]) as harness:
        session = await harness.session(resource_id="project-x", thread_id=None)
        result = await session.send("Hello")
        assert (result.text, result.reason) == ("three words", "end_turn"), result.error
        async with session.start("Now build") as run:
            names = [event.type async for event in run.events()]
        assert (names[0], names[-1]) == ("agent_start", "agent_end")
        assert run.result.text == "built"
        assert (await session.wait(run.id)).run_id == run.id
        for part, members in PARTS.items():
            for member in members.split():
                assert getattr(session, part) is not None
                assert hasattr(getattr(session, part), member), f"{part}.{member}"
        assert isinstance(session.events.replay(after=0), AsyncIterator)
        assert harness.sessions == (session,)
        assert await harness.known_resource_ids() == ["project-x"]
        assert beats
    assert (tmp_path / "data.db").exists()


def test_the_short_form_without_a_network() -> None:
    model = ScriptedModel(
        [[calls("word_count", path="a"), calls("word_count", path="b")], says("both")]
    )
    harness = Harness(
        id="t",
        store="memory:",
        agent=Agent(instructions="…", tools=[word_count]),
        permissions=Rules(tools={"word_count": "allow"}),
        resolve_model=lambda _model_id: model,
    )
    result = harness.run_sync("count")
    assert (result.text, result.steps, len(model.requests)) == ("both", 2, 2)
    assert Agent[int, str]
    assert ToolContext[int]
    assert RunResult[str]


@pytest.mark.parametrize("name", [name for name in bridle.__all__ if name[0].isupper()])
def test_public_objects_are_described_where_they_are_used(name):
    """`help()` and editors ask for it, whatever is imported for the type checker only."""
    thing = getattr(bridle, name)
    if not isinstance(thing, type) or issubclass(thing, Exception):
        return
    assert thing.__doc__
    assert inspect.signature(thing)
    assert name in pydoc.render_doc(thing)
