"""Checks decide the verdict: which are found, what they see, and how often they are told."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.checks.discover import discover, why_none
from support.cli import Bridle
from support.elsewhere import end_from_elsewhere

SPEC = "version: 1\nname: x\nexecution_policy: {sandbox: none, approval_profile: auto-edit}\n"
GO = ("run", "go", "--model", "scripted/script.yaml", "--output-format", "json")
DONE = "- says: done\n"
FAILING = (
    "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        assert 0\n"
)


@pytest.fixture
def ready(bridle: Bridle) -> Callable[..., Bridle]:
    def make(checks: str | None, script: str = DONE) -> Bridle:
        section = "" if checks is None else f"checks:\n{checks}"
        (bridle.cwd / "harness.yaml").write_text(SPEC + section)
        (bridle.cwd / "script.yaml").write_text(script)
        return bridle

    return make


def test_the_usual_runners_are_found(tmp_path: Path) -> None:
    def names(**texts: str) -> list[str]:
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        root.mkdir()
        for name, text in texts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return [check.name for check in discover(root)]

    assert names(**{"test_a.py": "def test_a(): pass\n"}) == ["pytest"]
    assert names(**{"test_a.py": "async def test(): pass\n"}) == ["pytest"]
    assert names(**{"test_a.py": "class TestA:\n    def test_a(self): pass\n"}) == ["pytest"]
    assert names(**{"tests/unit/test_a.py": "def test_a(): pass\n"}) == ["pytest"]
    assert names(**{"test_a.py": FAILING}) == ["unittest"]
    assert names(**{"tests/test_a.py": FAILING}) == ["unittest"]
    assert names(**{"tests/unit/__init__.py": "", "tests/unit/test_a.py": FAILING}) == ["unittest"]
    assert names(**{"tests/unit/test_a.py": FAILING}) == [], "discovery would not reach it"
    assert names(**{"a_test.py": FAILING}) == [], "nor this one"
    assert names(**{"package.json": '{"scripts": {"test": "jest"}}'}) == ["npm test"]
    assert names(**{"package.json": '{"scripts": {}}'}) == []
    assert names(**{"Cargo.toml": ""}) == ["cargo test"]
    assert names(**{"go.mod": ""}) == ["go test"]
    assert names(Makefile="all:\n\ntest:\n\ttrue\n") == ["make test"]
    assert names(Makefile="all:\n") == []
    assert names(**{"test_a.py": "print('a script')\n"}) == []
    assert why_none(tmp_path / "0") is None


def test_found_checks_are_counted_unless_switched_off(ready: Callable[..., Bridle]) -> None:
    bridle = ready(None)
    assert bridle(*GO).json["verdict"] == "claimed"
    (bridle.cwd / "test_it.py").write_text(FAILING)
    done = bridle(*GO)
    assert (done.code, done.json["verdict"]) == (3, "failed")
    assert done.json["checks"] == {"unittest": False}
    done = bridle(*GO, "--no-checks")
    assert (done.code, done.json["verdict"]) == (0, "claimed")
    done = ready("  enabled: false\n")(*GO)
    assert (done.code, done.json["verdict"]) == (0, "claimed")
    (bridle.cwd / "test_it.py").write_text(FAILING.replace("assert 0", "assert 1"))
    done = ready(None)(*GO)
    assert (done.code, done.json["verdict"]) == (0, "verified")


def test_steps_of_ones_own(ready: Callable[..., Bridle]) -> None:
    bridle = ready(
        "  custom_steps:\n"
        "    - {name: answer, command: grep -q done}\n"
        "    - {name: files, command: test -e notes.txt}\n"
        "    - {name: never, command: 'false', enabled: false}\n"
    )
    (bridle.cwd / "test_it.py").write_text(FAILING)  # written steps go before found ones
    done = bridle(*GO)
    assert done.json["checks"] == {"answer": True, "files": True}
    assert done.json["verdict"] == "verified"
    shown = bridle("explain").out
    assert "grep -q done" in shown
    assert "never" not in shown


@pytest.mark.parametrize(
    "section",
    [
        "  custom_steps: [{name: slow, command: sleep 60, timeout: 0.3}]\n",
        "  timeout_seconds: 0.3\n  custom_steps: [{name: slow, command: sleep 60}]\n",
    ],
    ids=["of the step", "of all"],
)
def test_a_check_has_a_time(ready: Callable[..., Bridle], section: str) -> None:
    done = ready(section)(*GO)
    assert done.json["checks"] == {"slow": False}


def test_failures_go_back_to_the_agent_within_the_limits(ready: Callable[..., Bridle]) -> None:
    section = "  max_rounds: {}\n  fail_on_error: true\n  custom_steps: [{{name: made, command: "
    section += "'echo missing-it; test -e out.txt'}}]\n"
    script = (
        "- says: done\n"
        "- calls: [{tool: write_file, args: {path: out.txt, content: x}}]\n"
        "- says: now it is\n"
    )
    bridle = ready(section.format(0), script)
    done = bridle(*GO)
    assert (done.code, done.json["verdict"], done.json["steps"]) == (3, "failed", 1)

    bridle = ready(section.format(2), script)
    done = bridle(*GO)
    assert (done.code, done.json["verdict"], done.json["steps"]) == (0, "verified", 3)
    events = bridle("events", "last", "--json").lines
    told = [e for e in events if e["type"] == "message_end" and e["message"]["role"] == "user"]
    assert "missing-it" in told[1]["message"]["parts"][0]["text"]
    assert [e["passed"] for e in events if e["type"] == "check_end"] == [False, True]
    assert bridle("replay", "last").code == 0

    (bridle.cwd / "out.txt").unlink()
    script = "- says: done\n- says: still done\n- says: and again\n- says: once more\n"
    done = ready(section.format(2), script)(*GO)
    assert (done.code, done.json["verdict"], done.json["steps"]) == (3, "failed", 3)
    done = bridle(*GO, "--max-steps", "1")
    assert (done.code, done.json["verdict"], done.json["steps"]) == (3, "failed", 1)


def test_a_write_after_the_checks_asks_for_new_ones(ready: Callable[..., Bridle]) -> None:
    """The verdict is never older than the last write."""
    bridle = ready(
        "  max_rounds: 1\n"
        "  custom_steps:\n"
        "    - {name: first, command: '! test -e bad.txt'}\n"
        "    - {name: second, command: test -e out.txt}\n",
        "- says: done\n"
        "- calls:\n"
        "    - {tool: write_file, args: {path: out.txt, content: x}}\n"
        "    - {tool: write_file, args: {path: bad.txt, content: x}}\n"
        "- says: better\n",
    )
    done = bridle(*GO)
    assert done.json["checks"] == {"first": False, "second": True}
    assert done.json["verdict"] == "failed"


def test_without_tools_checks_see_the_answer_only(ready: Callable[..., Bridle]) -> None:
    bridle = ready(
        "  fail_on_error: true\n  custom_steps:\n"
        "    - {name: polite, command: grep -q please}\n"
        "    - {name: alone, command: 'test -z \"$(ls -A)\"'}\n",
        "- says: please\n",
    )
    spec = bridle.cwd / "harness.yaml"
    spec.write_text(spec.read_text().replace("name: x\n", "name: x\nflavor: no_tool\n", 1))
    done = bridle(*GO)
    assert (done.code, done.json["checks"]) == (0, {"polite": True, "alone": True})
    (bridle.cwd / "script.yaml").write_text("- says: give\n")
    done = bridle(*GO)
    assert (done.code, done.json["checks"]) == (3, {"polite": False, "alone": True})


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("  custom_steps: [{name: a}]\n", "harness.yaml:5"),
        ("  custom_steps:\n    - {name: a, command: x, timeut: 3}\n", "Did you mean 'timeout'?"),
        ("  custom_steps: [{name: a, command: x}, {name: a, command: y}]\n", "two steps"),
        ("  max_rounds: -1\n", "checks.max_rounds"),
    ],
)
def test_mistakes_are_told(ready: Callable[..., Bridle], section: str, told: str) -> None:
    done = ready(section)("run", "go")
    assert done.code == 2
    assert told in done.err


SLOW = (
    "  custom_steps:\n"
    "    - {name: quick, command: 'true'}\n"
    "    - {name: slow, command: 'test -e fast || { touch started; exec sleep 60; }'}\n"
)


def slow(ready: Callable[..., Bridle]) -> Bridle:
    return ready(SLOW)


def test_a_run_that_is_out_of_time_does_not_wait_for_its_checks(
    ready: Callable[..., Bridle],
) -> None:
    bridle = slow(ready)
    done = bridle(*GO, "--timeout", "2")
    assert (done.code, done.json["reason"], done.json["verdict"]) == (5, "timeout", "stopped")
    assert (bridle.cwd / "started").exists()
    assert bridle("replay", "last").code == 0


def test_a_stop_during_checks_is_prompt_and_they_run_again(ready: Callable[..., Bridle]) -> None:
    bridle = slow(ready)
    process = bridle.start(*GO)
    wait_until((bridle.cwd / "started").exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=40)
    assert process.returncode == 130
    (bridle.cwd / "fast").touch()
    done = bridle("run", "--continue", *GO[2:])
    assert (done.code, done.json["verdict"]) == (0, "verified"), done.err
    assert done.json["checks"] == {"quick": True, "slow": True}
    events = bridle("events", "last", "--json").lines
    assert [e["name"] for e in events if e["type"] == "check_start"] == ["quick", "slow", "slow"]
    assert bridle("replay", "last").code == 0


def test_a_run_is_ended_from_elsewhere_during_checks(ready: Callable[..., Bridle]) -> None:
    bridle = slow(ready)
    process = bridle.start(*GO)
    wait_until((bridle.cwd / "started").exists)
    end_from_elsewhere(bridle)
    process.communicate(timeout=40)
    assert process.returncode == 3
    assert bridle("replay", "last").code == 0


def wait_until(condition: Callable[[], bool], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
