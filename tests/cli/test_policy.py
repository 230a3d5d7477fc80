"""A policy is asked, tested, learned and tried on the past without running anything."""

from __future__ import annotations

import json

import pytest
import yaml

from cli.conftest import SPEC
from support.cli import Bridle

STRICT = """\
version: 1
name: strict
execution_policy:
  approval_profile: strict
  denied_commands: [echo]
"""


def test_explain_a_call(bridle: Bridle) -> None:
    done = bridle("policy", "explain", "bash(git push --force)")
    assert done.code == 0, done.err
    assert "decision  deny" in done.out
    assert "harness.yaml:6" in done.out
    (row,) = bridle("policy", "explain", "bash(make)", "--json").json
    assert row["effect"] == "ask"
    assert row["flip"] == "add: bash(make) → allow"
    assert bridle("policy", "explain", "what?").code == 2


def test_policy_tests_with_coverage(bridle: Bridle) -> None:
    done = bridle("policy", "test")
    assert done.code == 0, done.err
    assert "3 of 3 tests passed; 2 of 3 rules exercised" in done.err
    (bridle.cwd / "harness.yaml").write_text(SPEC.replace("expect: ask", "expect: allow"))
    done = bridle("policy", "test")
    assert done.code == 1
    assert "FAIL  bash(make) expected allow, got ask" in done.out
    assert "harness.yaml:14" in done.out
    (row,) = bridle("policy", "test", "--json").json
    assert [test["passed"] for test in row["tests"]] == [True, True, False]
    (bridle.cwd / "harness.yaml").unlink()
    assert bridle("policy", "test").code == 2


def test_validate_names_the_line(bridle: Bridle) -> None:
    spec = bridle.cwd / "harness.yaml"
    done = bridle("validate")
    assert done.code == 0, done.err
    assert "3 policy tests passed" in done.out
    for old, new, line in (
        ("max_steps", "max_stepz", 10),
        ("bash(echo:*)", "bash(echo", 8),
        ("bash(make)", "what?", 14),
        ("expect: ask", "expect: deny", 14),
    ):
        spec.write_text(SPEC.replace(old, new))
        done = bridle("validate")
        assert done.code == 2, new
        assert f"harness.yaml:{line}" in done.err
        assert done.out == ""
        assert not bridle("validate", "--json").json[0]["valid"]
    schema = bridle("validate", "--schema").json
    profile = schema["$defs"]["ExecutionPolicy"]["properties"]["approval_profile"]
    assert "auto-edit" in profile["enum"]
    assert schema["$defs"]["HarnessSpec"]["additionalProperties"] is False


def test_explain_prints_what_the_gate_uses(recorded: Bridle) -> None:
    (row,) = recorded("explain", "--json").json
    assert row["profile"] == "auto-edit"
    assert row["limits"]["max_steps"] == 9
    assert row["sandbox"] == "none"
    assert {"spec:denied_commands[0]", "spec:permissions[0]"} <= {
        p["rule"] for p in row["policy"] if "rule" in p
    }
    text = recorded("explain")
    assert "bash(git push:*)" in text.out
    assert "harness.yaml:6" in text.out


def test_learned_rules_allow_the_run(recorded: Bridle) -> None:
    (recorded.cwd / "strict.yaml").write_text(STRICT.replace("  denied_commands: [echo]\n", ""))
    done = recorded("policy", "learn", "last", "--spec", "strict.yaml")
    assert done.code == 0, done.err
    learned = yaml.safe_load(done.out)["execution_policy"]["permissions"]
    patterns = {entry["pattern"] for entry in learned}
    assert "bash(echo hi)" in patterns
    assert not any("push" in pattern for pattern in patterns), "it was denied then"
    spec = {"version": 1, "name": "s", "execution_policy": {"approval_profile": "strict"}}
    spec["execution_policy"]["permissions"] = learned  # type: ignore[index]
    (recorded.cwd / "learned.yaml").write_text(yaml.safe_dump(spec))
    (row,) = recorded("backtest", "learned.yaml", "--from", "last", "--json").json
    assert row["newly_blocked"] == []
    assert [shift["call"] for shift in row["newly_asked"]] == ["bash(git push)"]


def test_backtest_runs_and_transcripts(recorded: Bridle) -> None:
    (recorded.cwd / "strict.yaml").write_text(STRICT)
    (row,) = recorded("backtest", "strict.yaml", "--from", "last", "--json").json
    assert row["total"] == 4
    assert [shift["call"] for shift in row["newly_blocked"]] == ["bash(echo hi)"]
    assert row["prompts_saved"] == -3
    lines = [
        {"type": "assistant", "message": {"content": [
            {"type": "tool_use", "name": "Bash", "input": {"command": "echo there"}},
            {"type": "tool_use", "name": "Read", "input": {"file_path": "notes.txt"}}]}},
        {"payload": {"type": "function_call", "name": "shell",
                     "arguments": json.dumps({"command": ["bash", "-lc", "ls"]})}},
        {"type": "user", "message": "hello"},
    ]  # fmt: skip
    (recorded.cwd / "other.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = recorded("backtest", "strict.yaml", "--from", "other.jsonl", "last", "--json")
    assert done.code == 0, done.err
    assert done.json[0]["total"] == 7
    blocked = {shift["call"] for shift in done.json[0]["newly_blocked"]}
    assert blocked == {"bash(echo hi)", "Bash(echo there)"}


@pytest.mark.parametrize("name", ["explain", "test", "learn"])
def test_help_has_an_example(bridle: Bridle, name: str) -> None:
    assert "Example: bridle policy" in bridle("policy", name, "--help").out
