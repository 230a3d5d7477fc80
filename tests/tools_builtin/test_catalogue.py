"""Which tools there are, which are offered, and by which names they are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle import Agent, Rules, Subagent, UserError
from bridle.app.coding import build_coding
from bridle.app.harness import Harness
from bridle.app.ruling import RunOptions
from bridle.models.scripted import ScriptedModel as Scripted
from bridle.testing import calls, says
from bridle.tools.builtin import names
from bridle.tools.define import Tool
from tools_builtin.conftest import results

pytestmark = pytest.mark.anyio

FIRST_REQUEST = 8_000


def offered(model: Scripted) -> list[str]:
    return [tool.name for tool in model.requests[-1].tools]


async def test_what_is_not_offered_is_offered_when_named(opened, model):
    model.plays(says("hi"))
    async with opened() as harness:
        await (await harness.session()).send("hi")
    usual = offered(model)
    assert usual == [*names.WORKSPACE_NAMES, *names.BUILTIN_NAMES]
    every = (*names.NAMED_NAMES, *names.NAMED_WORKSPACE_NAMES)
    model.plays(says("hi"))
    async with opened(tools=every) as harness:
        await (await harness.session()).send("hi")
    assert set(offered(model)) == {*usual, *every}
    with pytest.raises(UserError, match="Did you mean 'git_diff'"):
        async with opened(tools=["git_dif"]):
            pass


async def test_every_tool_has_its_own_name_and_a_short_description(opened):
    async with opened() as harness:
        catalogue = (await harness.session())._attachment.blueprint.builtin
        every = [*catalogue.offered, *(make() for make in catalogue.named.values())]
        for tool in every:
            assert isinstance(tool, Tool)
            assert catalogue.find(tool.name).name == tool.name
            assert len(tool.description) <= 120, tool.name
        assert [*catalogue.named] == [*names.NAMED_NAMES, *names.NAMED_WORKSPACE_NAMES]


@pytest.mark.parametrize(
    ("alias", "args"),
    [
        ("execute_command", {"command": "echo hi"}),
        ("shell", {"command": "echo hi"}),
        ("search_files", {"pattern": "hi"}),
        ("todo_write", {"tasks": [{"content": "x"}]}),
        ("todo_read", {}),
    ],
)
async def test_other_names_work_in_calls_rules_and_lists(opened, model, root: Path, alias, args):
    (root / "a.txt").write_text("hi\n")

    async def effect_and_result(**options):
        model.plays(calls(alias, **args), says("done"))
        async with opened(**options) as harness:
            session = await harness.session()
            await session.send("go")
            events = await harness.store.events(session.thread_id)
        decided = [e.effect for e in events if e.type == "permission_decided"]
        return decided, results(events)[0]

    allowed, told = await effect_and_result(permissions=Rules(tools={alias: "allow"}))
    assert allowed == ["allow"]
    assert not told.is_error
    denied, told = await effect_and_result(permissions=Rules(tools={alias: "deny"}))
    assert denied == ["deny"]
    assert told.denied
    _, told = await effect_and_result(disable_builtin_tools=[alias])
    assert told.kind == "unknown_tool"
    kind = Subagent("kid", instructions="kid", allowed_tools=[alias])
    model.plays(calls("subagent", agent_type="kid", task="x"), says("child"), says("parent"))
    async with opened(subagents=[kind]) as harness:
        await (await harness.session()).send("go")
    child = next(r for r in model.requests if r.system == "kid")
    assert len(child.tools) == 1


def spec(root: Path, text: str) -> Path:
    path = root / "harness.yaml"
    path.write_text(
        f"version: 1\nname: t\nmodel_policy:\n  primary: scripted/{root}/s.yaml\n{text}"
    )
    (root / "s.yaml").write_text("- says: hi\n- says: hi\n")
    return path


async def tools_of(root: Path, home: Path, text: str) -> list[str]:
    options = RunOptions(cwd=root, spec=spec(root, text), store="memory:")
    harness = build_coding(options, Harness).harness
    async with harness:
        session = await harness.session()
        return [
            tool.name
            for tool in session._attachment.blueprint.toolset(session._attachment.state).specs
        ]


async def test_a_spec_says_which_tools_are_offered(root: Path, home: Path):
    usual = await tools_of(root, home, "")
    assert await tools_of(root, home, "tools:\n  enabled: [read_file, 'git_*', shell]\n") == [
        "read_file", "bash", "git_diff", "git_log", "git_commit",
    ]  # fmt: skip
    assert await tools_of(root, home, "tools:\n  enabled: [default, notify]\n") == [
        *usual, "notify",
    ]  # fmt: skip
    without = await tools_of(root, home, "tools:\n  disabled: ['task_*', todo_read, shell]\n")
    assert without == [n for n in usual if not n.startswith("task_") and n != "bash"]


async def test_a_tool_that_does_not_exist_is_an_error(root: Path, home: Path):
    for field in ("enabled", "disabled"):
        with pytest.raises(UserError, match="Did you mean 'git_diff'"):
            await tools_of(root, home, f"tools:\n  {field}: [git_dif]\n")


async def test_a_tool_that_a_spec_leaves_out_is_denied(root: Path, home: Path):
    path = spec(root, "tools:\n  enabled: [read_file]\n")
    (root / "s.yaml").write_text("- calls: [{tool: bash, args: {command: ls}}]\n- says: x\n")
    options = RunOptions(cwd=root, spec=path, store="memory:", yolo=True)
    harness = build_coding(options, Harness).harness
    async with harness:
        session = await harness.session()
        await session.send("go")
        events = await harness.store.events(session.thread_id)
    (told,) = results(events)
    assert told.kind == "unknown_tool"


async def test_the_first_request_of_the_coding_agent_is_small(root: Path, home: Path):
    """System prompt, tools and the user's words, as they are sent to a provider."""
    from bridle.models.providers.chat_encode import encode_head

    options = RunOptions(cwd=root, spec=spec(root, ""), store="memory:")
    harness = build_coding(options, Harness).harness
    async with harness:
        session = await harness.session()
        state = session._attachment.state
        tools = session._attachment.blueprint.toolset(state).specs
        instructions = harness._blueprint.default_mode.agent.instructions
    assert 3_000 < len(encode_head("gpt-4o-mini", instructions, tools)) < FIRST_REQUEST - 200


def test_agents_take_names_and_functions_alike():
    assert Agent("x", tools=["git_diff"]).tools == ["git_diff"]
