"""The permissions that a project keeps for another tool hold here too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.cli import Bridle

SCRIPT = """\
- calls:
    - {tool: write_file, args: {path: gen/a.txt, content: x}}
    - {tool: write_file, args: {path: src/a.txt, content: x}}
    - {tool: bash, args: {command: 'echo hi'}}
- says: done
"""


@pytest.fixture
def project(tmp_path: Path) -> Bridle:
    place = tmp_path / "p"
    (place / ".claude").mkdir(parents=True)
    (place / "script.yaml").write_text(SCRIPT)
    return Bridle(place, tmp_path)


def keep(project: Bridle, permissions: Any, name: str = "settings.json") -> None:
    text = json.dumps({"permissions": permissions}, indent=1)
    (project.cwd / ".claude" / name).write_text(text)


def test_they_allow_ask_and_deny_with_the_place_of_each(project: Bridle) -> None:
    keep(project, {"allow": ["Write(src/**)", "Bash(echo:*)"], "deny": ["Edit(/gen/**)"]})
    done = project("run", "go", "--model", "scripted/script.yaml", "--no-checks")
    assert done.code == 0, done.err
    assert (project.cwd / "src" / "a.txt").exists()
    assert not (project.cwd / "gen").exists()
    why = project("policy", "explain", "write_file(gen/a.txt)").out
    assert "settings.json:8" in why
    assert "deny" in why


def test_those_of_the_user_s_own_file_are_added(project: Bridle) -> None:
    keep(project, {"allow": ["Bash(echo:*)"]})
    keep(project, {"deny": ["Bash(echo:*)"]}, "settings.local.json")
    (explained,) = project("policy", "explain", "bash(echo hi)", "--json").json
    assert explained["effect"] == "deny"
    assert "settings.local.json" in json.dumps(explained)


def test_what_cannot_be_read_is_told_and_a_guard_is_not_skipped(project: Bridle) -> None:
    keep(project, {"allow": ["Bash(unclosed"], "defaultMode": "acceptEdits"})
    (project.cwd / "script.yaml").write_text("- says: done\n")
    done = project("run", "go", "--model", "scripted/script.yaml", "--no-checks")
    assert done.code == 0
    assert "'Bash(unclosed' allows nothing here" in done.err
    assert "permissions.defaultMode has no effect here" in done.err
    for wrong in ({"deny": ["Bash(unclosed"]}, {"ask": "Bash"}, ["Bash"]):
        keep(project, wrong)
        refused = project("run", "go", "--model", "scripted/script.yaml", "--no-checks")
        assert refused.code == 2
        assert "settings.json" in refused.err


def test_they_count_where_a_project_turns_the_sandbox_off(project: Bridle) -> None:
    keep(project, {"allow": ["Bash(make:*)"]})
    (project.cwd / "harness.yaml").write_text(
        "version: 1\nname: loose\nexecution_policy: {sandbox: none}\n"
    )
    refused = project("run", "go", "--model", "scripted/script.yaml", "--no-checks")
    assert refused.code == 4
    assert "allow Bash(make:*)" in refused.err
