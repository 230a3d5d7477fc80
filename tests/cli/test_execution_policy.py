"""Every field of `execution_policy` changes what a run does: with it, and without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.sandbox import probe
from support.cli import Bridle

pytestmark = pytest.mark.skipif(
    not probe.bubblewrap().available, reason="needs bubblewrap: scripts/install-system"
)


def call(name: str, **arguments: Any) -> str:
    return json.dumps({"calls": [{"tool": name, "args": arguments}]})


READ = call("read_file", path="notes.txt")
WRITE = call("write_file", path="new.txt", content="x")
SHELL = call("bash", command="true")
MAKES = call("bash", command="touch made.txt && ls made.txt")
PUSH = call("bash", command="git push")
FETCH = call("web_fetch", url="http://127.0.0.1:9/")
YOLO = "approval_profile: yolo"

CASES = {
    "allow_read": (READ, YOLO, "allow_read: false"),
    "allow_write": (WRITE, YOLO, "allow_write: false"),
    "allow_shell": (SHELL, YOLO, "allow_shell: false"),
    "approval_profile deny": (WRITE, YOLO, "approval_profile: deny"),
    "sandbox read-only": (MAKES, YOLO, "sandbox: read-only"),
    "sandbox no-shell": (SHELL, YOLO, "sandbox: no-shell"),
    "denied_commands": (PUSH, YOLO, "denied_commands: [git push]"),
    "categories": (WRITE, YOLO, "categories: {edit: deny}"),
    "permissions by tool": (WRITE, YOLO, "permissions: [{tool: write_file, effect: deny}]"),
    "permissions by pattern": (
        WRITE,
        YOLO,
        "permissions: [{pattern: 'write_file:new.*', effect: deny}]",
    ),
}
"""What is called, a policy that lets it run, and what takes that away."""


@pytest.fixture
def project(tmp_path: Path) -> Bridle:
    place = tmp_path / "p"
    place.mkdir()
    (place / "notes.txt").write_text("kept\n")
    return Bridle(place, tmp_path)


def ended(project: Bridle, script: str, *policy: str) -> tuple[int, list[dict[str, Any]]]:
    """Run one call under a policy: the exit code, and what became of the call."""
    lines = {line.partition(":")[0]: line for line in policy}  # the last one of a field holds
    body = "".join(f"  {line}\n" for line in lines.values())
    (project.cwd / "harness.yaml").write_text(
        f"version: 1\nname: p\ntools: {{enabled: [default, web_fetch]}}\nexecution_policy:\n{body}"
    )
    (project.cwd / "script.yaml").write_text(f"- {script}\n- says: done\n")
    model = ("--model", "scripted/script.yaml", "--no-checks", "--trust")
    done = project("run", "go", *model, "--output-format", "json")
    events = project("events", "last", "--json").lines
    return done.code, [event for event in events if event["type"] == "tool_end"]


@pytest.mark.parametrize("name", CASES)
def test_a_field_takes_away_what_runs_without_it(project: Bridle, name: str) -> None:
    script, without, field = CASES[name]
    (before,) = ended(project, script, without)[1]
    refused = before["kind"] in ("denied", "unknown_tool") if before["is_error"] else False
    assert not refused, before
    _, after = ended(project, script, without, field)
    assert after[0]["is_error"], after
    if name != "sandbox read-only":
        assert after[0]["kind"] != before.get("kind"), after


@pytest.mark.parametrize(
    ("script", "policy"),
    [
        (SHELL, "allowed_commands: ['true']"),
        (WRITE, "approval_profile: auto-edit"),
        (WRITE, "categories: {edit: allow}"),
        (WRITE, "permissions: [{pattern: 'write_file:new.*', effect: allow}]"),
    ],
)
def test_a_field_allows_what_is_asked_without_it(project: Bridle, script: str, policy: str) -> None:
    code, calls = ended(project, script, "approval_profile: balanced")
    assert (code, calls) == (6, [])
    code, (end,) = ended(project, script, "approval_profile: balanced", policy)
    assert (code, end["is_error"]) == (0, False)


def test_where_commands_are_listed_the_others_are_asked(project: Bridle) -> None:
    assert ended(project, MAKES, YOLO)[0] == 0
    assert ended(project, MAKES, YOLO, "allowed_commands: ['true']")[0] == 6


def test_directories_beside_the_workspace(project: Bridle, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "there.txt").write_text("seen\n")
    reads = call("read_file", path=str(beside / "there.txt"))
    writes = call("write_file", path=str(beside / "new.txt"), content="x")
    for script, field in ((reads, "readable"), (writes, "writable")):
        assert ended(project, script, YOLO)[1][0]["is_error"]
        assert not ended(project, script, YOLO, f"{field}: ['{beside}']")[1][0]["is_error"]
    assert ended(project, writes, YOLO, f"readable: ['{beside}']")[1][0]["is_error"]


def test_the_network_of_tools_and_commands(project: Bridle) -> None:
    (off,) = ended(project, FETCH, YOLO)[1]
    assert off["kind"] == "denied", off
    (on,) = ended(project, FETCH, YOLO, "allow_network: true")[1]
    assert on["kind"] != "denied", on
    (other,) = ended(project, FETCH, YOLO, "allowed_hosts: [example.org]")[1]
    assert other["kind"] == "denied", other
