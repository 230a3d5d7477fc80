"""The corpus through the whole harness: the engine alone, the sandbox alone, and neither."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridle import Agent, Harness, Workspace
from bridle.app.paths import state_directory
from bridle.permissions.compile import policy_of
from bridle.testing import ScriptedModel, calls, says
from bridle.types import events as ev
from bridle.types.permissions import Policy, Rules
from permissions.support import ALLOWED, CORPUS
from support.cli import Bridle

HOSTILE = [case for case in CORPUS["allow"] if case["expected"] == "ask"]
BENIGN = [case for case in CORPUS["allow"] if case["expected"] == "allow"]
DENIED = [case for case in CORPUS["deny"] if case["expected"] == "deny"]


@pytest.fixture
def base() -> Iterator[Path]:
    """Not below /tmp, which the sandbox replaces."""
    place = Path(tempfile.mkdtemp(prefix=".bridle-test-", dir=Path.home())).resolve()
    for name in ("workspace", "outside"):
        (place / name).mkdir()
    yield place
    shutil.rmtree(place)


def compiled(rules: Rules, root: Path, *, answerable: bool = False) -> Policy:
    state = str(state_directory())
    home = str(root.parent)
    return policy_of(rules, root=str(root), home=home, state_dir=state, answerable=answerable)


async def run_all(
    root: Path, cases: list[dict[str, Any]], where: Path, policy: Policy, sandbox: str
) -> list[ev.ToolReturned]:
    """Every command as a call of one run, in order; `where` stands for $WD."""
    commands = [case["cmd"].replace("$WD", str(where)) for case in cases]
    script = [calls("bash", command=command, timeout=20) for command in commands]
    model = ScriptedModel([*script, says("done")])
    async with Harness(
        store="memory:",
        agent=Agent("x"),
        workspace=Workspace(root, sandbox=sandbox),
        permissions=policy,
        resolve_model=lambda _id: model,
    ) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.text == "done", result.error
        events = await harness.store.events(session.thread_id)
        return [event for event in events if isinstance(event, ev.ToolReturned)]


def markers(cases: list[dict[str, Any]], where: Path) -> list[str]:
    return [c["id"] for c in cases if Path(c["marker"].replace("$WD", str(where))).exists()]


def prepare(root: Path) -> None:
    (root / "calc.py").write_text("def add(a, b):\n    return a + b  # a && b\n")
    (root / "package.json").write_text('{"scripts": {"test": "true"}}')
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=root, check=True)


async def test_the_engine_alone_stops_what_is_hostile_and_runs_the_rest(base: Path) -> None:
    root = base / "workspace"
    prepare(root)
    rules = Rules(patterns=tuple((f"bash({name}:*)", "allow") for name in ALLOWED))
    ends = await run_all(root, [*HOSTILE, *BENIGN], root, compiled(rules, root), "none")
    assert markers(HOSTILE, root) == []
    hostile, benign = ends[: len(HOSTILE)], ends[len(HOSTILE) :]
    assert [end.denied for end in hostile] == [True] * len(HOSTILE)
    assert [end.result for end in benign if end.is_error] == []


async def test_the_engine_alone_keeps_a_denied_command_from_its_victims(base: Path) -> None:
    root = base / "workspace"
    prepare(root)
    victims = [Path(case["marker"].replace("$WD", str(root))) for case in DENIED]
    for victim in victims:
        victim.write_text("alive")
    rules = Rules(profile="yolo", patterns=(("bash(rm:*)", "deny"),))
    await run_all(root, DENIED, root, compiled(rules, root), "none")
    assert [victim for victim in victims if not victim.exists()] == []


@pytest.mark.bwrap
async def test_the_sandbox_alone_lets_nothing_out(base: Path) -> None:
    root, outside = base / "workspace", base / "outside"
    prepare(root)
    unbound = Policy(root=None, yolo=True, home=None)
    cases = [case for case in (*HOSTILE, *DENIED) if "$WD" in case["marker"]]
    for case in DENIED:
        Path(case["marker"].replace("$WD", str(outside))).write_text("alive")
    before = sorted(path.name for path in outside.iterdir())
    await run_all(root, cases, outside, unbound, "bubblewrap")
    assert sorted(path.name for path in outside.iterdir()) == before
    assert sorted(path.name for path in base.iterdir()) == ["outside", "workspace"]


async def test_with_neither_they_take_effect(base: Path) -> None:
    root, outside = base / "workspace", base / "outside"
    prepare(root)
    unbound = Policy(root=None, yolo=True, home=None)
    for case in DENIED:
        Path(case["marker"].replace("$WD", str(outside))).write_text("alive")
    ends = await run_all(root, [*HOSTILE, *DENIED], outside, unbound, "none")
    assert len(markers(HOSTILE, outside)) >= 15, [end.result for end in ends if end.denied]
    assert len(DENIED) - len(markers(DENIED, outside)) >= 10


def test_a_sandbox_that_is_not_there_is_refused_with_what_to_do(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    (project / "s.yaml").write_text(
        "- calls: [{tool: bash, args: {command: touch ran}}]\n- says: x\n"
    )
    bridle = Bridle(project, tmp_path)
    words = ("run", "go", "--yolo", "--model", f"scripted/{project / 's.yaml'}", "--sandbox")
    unknown = bridle(*words, "bubblewarp")
    assert unknown.code == 2
    assert "bubblewrap" in unknown.err
    missing = bridle(*words, "seatbelt")
    assert missing.code == 2
    assert "macOS" in missing.err
    assert not (project / "ran").exists()
    chosen = bridle(*words, "none")
    assert chosen.code == 0, chosen.err
    assert (project / "ran").exists()
