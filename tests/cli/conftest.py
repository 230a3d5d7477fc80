from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.chat_server import chat_server as chat_server
from support.cli import Bridle

SPEC = """\
version: 1
name: demo
execution_policy:
  sandbox: none
  approval_profile: auto-edit
  denied_commands: [git push]
  permissions:
    - {pattern: "bash(echo:*)", effect: allow}
limits:
  max_steps: 9
policy_tests:
  - {call: "bash(git push)", expect: deny, because: nobody pushes}
  - {call: "bash(echo hi)", expect: allow}
  - {call: "bash(make)", expect: ask}
"""
SCRIPT = """\
- says: I look first.
  calls:
    - {tool: read_file, args: {path: notes.txt}}
    - {tool: bash, args: {command: git push}}
- calls: [{tool: write_file, args: {path: out.txt, content: "new\\n"}}]
- calls: [{tool: bash, args: {command: echo hi}}]
- says: Done.
"""
FAMILY = '''
import sys
import anyio
from bridle import Agent, Harness, Rules, Subagent, tool
from bridle.testing import ScriptedModel, calls, says

@tool(category="read", read_only=True, concurrency_safe=True)
async def look(name: str) -> str:
    """Look at something."""
    await anyio.sleep(0.05)
    return f"{name} is fine"

class ByRole:
    id, price, context_window = "test/by-role", None, None
    def stream(self, request):
        child = request.system == "child"
        done = any(m.role == "tool" for m in request.messages)
        if child:
            both = [calls("look", name="x"), calls("look", name="y")]
            item = says("the child says hello") if done else both
        else:
            ask = calls("subagent", agent_type="kid", task="work")
            item = says("parent got it") if done else ask
        return ScriptedModel([item]).stream(request)

async def main():
    harness = Harness(
        id="h", store=sys.argv[1], agent=Agent("parent", tools=[look]),
        subagents=[Subagent("kid", instructions="child", allowed_tools=["look"])],
        permissions=Rules(tools={"subagent": "allow"}), model="test/by-role",
        resolve_model=lambda _id: ByRole(),
    )
    async with harness:
        session = await harness.session()
        print((await session.send("go")).run_id)

anyio.run(main)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "notes.txt").write_text("buy milk\n")
    (root / "harness.yaml").write_text(SPEC)
    (root / "script.yaml").write_text(SCRIPT)
    return root


@pytest.fixture
def bridle(tmp_path: Path, project: Path) -> Bridle:
    home = tmp_path / "home"
    home.mkdir()
    return Bridle(cwd=project, home=home)


@pytest.fixture
def recorded(bridle: Bridle) -> Bridle:
    """A project with one run: a read, a refused push, a write, a command."""
    done = bridle("run", "look at my notes", "--model", "scripted/script.yaml")
    assert done.code == 0, done.err
    return bridle


@pytest.fixture
def parent(bridle: Bridle, tmp_path: Path) -> Bridle:
    """A store with one run that had a subagent."""
    program = tmp_path / "family.py"
    program.write_text(FAMILY)
    (bridle.home / "b").mkdir(exist_ok=True)
    url = f"sqlite:///{bridle.home / 'b' / 'bridle.db'}"
    done = subprocess.run(
        [sys.executable, str(program), url],
        env=bridle.environment(),
        cwd=bridle.cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return bridle
