from __future__ import annotations

import json

import pytest

from bridle import Agent, Harness, Workspace
from bridle.errors import ConfigError
from bridle.testing import ScriptedModel, says
from bridle.types.content import ToolCall
from support.cli import Bridle

pytestmark = pytest.mark.anyio
OPTIONAL = {"web_fetch", "web_search", "codebase_search", "navigate", "screenshot", "extract"}


async def offered(model: ScriptedModel, opened, *tools, **options) -> list[str]:
    model.plays(says("ok"))
    async with opened(*tools, **options) as harness:
        await (await harness.session()).send("go")
    return [tool.name for tool in model.requests[-1].tools]


async def test_by_default_none_of_them_is_offered(opened, model, tmp_path):
    names = await offered(model, opened, workspace=Workspace(tmp_path))
    assert "read_file" in names
    assert not OPTIONAL & set(names)


async def test_an_agent_names_what_it_wants_beside_the_default(opened, model, tmp_path):
    names = await offered(model, opened, "web_fetch", workspace=Workspace(tmp_path))
    assert {"web_fetch", "read_file", "ask_user"} <= set(names)
    assert "web_search" not in names


@pytest.mark.parametrize("name", sorted(OPTIONAL))
async def test_the_gate_knows_what_they_are(name, opened, tmp_path):
    async with opened(name, workspace=Workspace(tmp_path)) as harness:
        catalogue = (await harness.session())._attachment.blueprint.builtin
    tool = catalogue.find(name)
    args = {"query": "x"} if "search" in name else {"url": "https://e.org:8443/a"}
    facts = tool.describe(ToolCall(id="c", tool=name, args=args))
    assert facts.problem is None
    assert (facts.category, facts.read_only, facts.effect) == ("read", True, "safe")
    assert facts.concurrency_safe is (name not in ("navigate", "screenshot", "extract"))
    assert facts.timeout is not None
    assert facts.timeout <= 150
    assert facts.hosts == (("e.org:8443",) if "url" in args else ())
    wrong = tool.describe(ToolCall(id="c", tool=name, args={"nope": 1}))
    assert f"{name} takes {{" in (wrong.problem or "")
    assert tool is catalogue.find(name), "it keeps what it holds"


def test_an_unknown_name_is_an_error_with_the_nearest_one():
    with pytest.raises(ConfigError, match="Did you mean 'web_fetch'"):
        Harness(agent=Agent("x", tools=["web_fetsh"]))


def test_what_works_in_a_workspace_is_not_there_without_one(tmp_path):
    with pytest.raises(ConfigError, match="codebase_search"):
        Harness(agent=Agent("x", tools=["codebase_search"]))
    Harness(agent=Agent("x", tools=["codebase_search"]), workspace=Workspace(tmp_path))


def test_a_flavor_without_tools_has_none(tmp_path):
    (tmp_path / "harness.yaml").write_text("version: 1\nname: t\nflavor: no_tool\n")
    script = [{"calls": [{"tool": "ask_user", "args": {"question": "hi?"}}]}, {"says": "done"}]
    (tmp_path / "script.yaml").write_text(json.dumps(script))
    bridle = Bridle(cwd=tmp_path, home=tmp_path)
    ran = bridle("run", "go", "--model", "scripted/script.yaml", "--no-input")
    assert ran.code == 0, ran.err
    lines = bridle("events", "last", "--json").out.splitlines()
    (end,) = [event for event in map(json.loads, lines) if event["type"] == "tool_end"]
    assert "Available tools: none" in end["result"]


SPEC = """\
version: 1
name: reader
tools: {{enabled: [web_fetch, web_search], search_url: "{url}"}}
execution_policy: {{allowed_hosts: ["{host}"], sandbox: none}}
"""


def test_the_command_line_reads_a_page(tmp_path, server):
    server.page("/doc", "<h2>Install</h2><pre>pip install x</pre>")
    server.page("/s", json.dumps({"results": [{"title": "Doc", "url": server.url("/doc")}]}))
    project = tmp_path / "project"
    project.mkdir()
    (project / "harness.yaml").write_text(SPEC.format(url=server.url("/s"), host=server.host))
    script = [
        {"calls": [{"tool": "web_search", "args": {"query": "install"}}]},
        {"calls": [{"tool": "web_fetch", "args": {"url": server.url("/doc")}}]},
        {"calls": [{"tool": "bash", "args": {"command": "true"}}]},
        {"says": "done"},
    ]
    (project / "script.yaml").write_text(json.dumps(script))
    bridle = Bridle(cwd=project, home=tmp_path)
    ran = bridle("run", "go", "--model", "scripted/script.yaml", "--no-input")
    assert ran.code == 0, ran.err
    lines = bridle("events", "last", "--json").out.splitlines()
    ends = [event for event in map(json.loads, lines) if event["type"] == "tool_end"]
    assert "1. Doc" in ends[0]["result"]
    assert "## Install" in ends[1]["result"]
    assert "```\npip install x\n```" in ends[1]["result"]
    assert "There is no tool 'bash'" in ends[2]["result"]
    assert bridle("replay", "last").code == 0
