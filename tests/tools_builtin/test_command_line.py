"""The tools as a user of the command line meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import Bridle

SPEC = """version: 1
name: t
tools:
  enabled: [default, request_permission, update_setting]
"""


@pytest.fixture
def bridle(tmp_path: Path) -> Bridle:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    (project / "harness.yaml").write_text(SPEC)
    return Bridle(cwd=project, home=home)


def script(bridle: Bridle, *steps: object) -> str:
    path = bridle.home / "script.yaml"
    path.write_text(json.dumps(list(steps)))
    return f"scripted/{path}"


ASKS = {"calls": [{"tool": "request_permission", "args": {"reason": "r", "tool": "write_file"}}]}
WRITES = {"calls": [{"tool": "write_file", "args": {"path": "made", "content": "x"}}]}


def test_a_grant_is_given_from_another_process(bridle: Bridle) -> None:
    model = script(bridle, ASKS, WRITES, {"says": "done"})
    parked = bridle("run", "go", "--model", model)
    assert parked.code == 6, parked.err
    (waiting,) = bridle("approvals", "--json").json
    assert waiting["tool"] == "request_permission"
    assert bridle("approve", waiting["id"]).code == 0
    done = bridle("run", "--continue", "--model", model, "--output-format", "json")
    assert (done.code, done.json["text"]) == (0, "done"), done.err
    assert (bridle.cwd / "made").exists()
    replayed = bridle("replay", "last")
    assert replayed.code == 0, replayed.err


def test_without_input_a_grant_is_refused_and_the_model_is_told(bridle: Bridle) -> None:
    model = script(bridle, ASKS, WRITES, {"says": "done"})
    done = bridle("run", "go", "--model", model, "--no-input", "--output-format", "stream-json")
    told = [event for event in done.lines if event["type"] == "tool_end"]
    assert [event["denied"] for event in told] == [True, True]
    assert "nobody can answer" in told[0]["result"]
    assert not (bridle.cwd / "made").exists()


def test_what_a_spec_offers_is_explained(bridle: Bridle) -> None:
    told = bridle("explain")
    assert told.code == 0, told.err
    assert "request_permission" in told.out
    (bridle.cwd / "harness.yaml").write_text(SPEC.replace("default", "defualt"))
    refused = bridle("validate")
    assert refused.code == 2
    assert "Did you mean 'default'" in refused.err + refused.out
