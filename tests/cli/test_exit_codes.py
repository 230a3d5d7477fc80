"""Every exit code of the contract, by the real executable, with what produces it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Bridle
from support.elsewhere import end_from_elsewhere

SPEC = """\
version: 1
name: codes
execution_policy: {sandbox: none, approval_profile: balanced}
"""
SLEEP = "touch started; exec sleep 60"
READS = "\n".join(
    f"- calls: [{{tool: read_file, args: {{path: notes.txt, offset: {n}}}}}]" for n in range(1, 6)
)
SAME = "- calls: [{tool: read_file, args: {path: notes.txt}}]\n" * 12

ENDS: dict[str, tuple[int, str, list[str]]] = {
    "end_turn": (0, "- says: done\n", []),
    "stop_sequence": (0, "- {says: STOP, stop: stop_sequence}\n", []),
    "error": (1, "- calls: [{tool: read_file, args: {path: notes.txt}}]\n", []),
    "safety_violation": (4, "- {says: I cannot, stop: refused}\n", []),
    "budget_exceeded": (5, "- says: no room\n", ["max_tokens=500"]),
    "recursion_limit": (5, READS, ["max_steps=3"]),
    "timeout": (5, "- {says: slow, stalls: 60}\n", ["timeout=0.5"]),
    "context_overflow": (5, "- fails: {kind: context_overflow}\n", []),
    "loop_detected": (5, SAME, []),
    "max_tokens": (5, "- {says: and then, stop: max_tokens}\n", []),
}


@pytest.fixture
def ready(bridle: Bridle) -> Callable[..., Bridle]:
    def make(script: str, spec: str = SPEC) -> Bridle:
        (bridle.cwd / "harness.yaml").write_text(spec)
        (bridle.cwd / "script.yaml").write_text(script)
        bridle.env = {"BRIDLE_MODEL_POLICY__PRIMARY": "scripted/script.yaml"}
        return bridle

    return make


@pytest.mark.parametrize("reason", ENDS)
def test_the_code_of_a_reason(ready: Callable[..., Bridle], reason: str) -> None:
    code, script, limits = ENDS[reason]
    section = "".join(f"  {limit.replace('=', ': ')}\n" for limit in limits)
    bridle = ready(script, SPEC + (f"limits:\n{section}" if limits else ""))
    done = bridle("run", "go", "--output-format", "json")
    assert (done.code, done.json["reason"]) == (code, reason), done.err
    assert done.json["exit_code"] == code
    if done.json["error"] is not None:
        assert set(done.json["error"]["dimension"]) == {"id", "label", "field"}


@pytest.mark.parametrize(
    ("kind", "code"), [("authentication", 7), ("bad_request", 7), ("unavailable", 75)]
)
def test_a_provider_that_does_not_answer(
    ready: Callable[..., Bridle], kind: str, code: int
) -> None:
    done = ready(f"- fails: {{kind: {kind}}}\n")("run", "go", "--output-format", "json")
    assert done.code == code, done.err
    assert done.json["error"]["type"] == kind
    assert done.json["error"]["dimension"]["field"] == "model_policy"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "go", "--nosuch"],
        ["nosuch"],
        ["run", "go", "--profile", "nosuch"],
        ["run", "go", "--mode", "nosuch"],
        ["run", "go", "--backend", "codex-sdk"],
        ["run", "go", "--backend", "nosuch"],
        ["run", "go", "--store", "postgresql://localhost/x"],
        ["run", "go", "--output-schema", "nosuch.json"],
        ["run", "@nosuch.md"],
        ["run", "go", "--cwd", "nosuch"],
        ["run", "--continue"],
        ["events", "nosuch"],
    ],
    ids=" ".join,
)
def test_usage(ready: Callable[..., Bridle], arguments: list[str]) -> None:
    done = ready("- says: done\n")(*arguments)
    assert done.code == 2, done.err
    assert done.out == ""
    assert done.err.strip()


def test_no_model_can_be_chosen(ready: Callable[..., Bridle]) -> None:
    bridle = ready("")
    bridle.env = {}
    done = bridle("run", "go")
    assert done.code == 2
    assert "bridle connect" in done.err


def test_failed_checks(ready: Callable[..., Bridle]) -> None:
    steps = "checks:\n  custom_steps: [{name: never, command: 'false'}]\n"
    bridle = ready("- says: done\n", SPEC + steps + "  fail_on_error: true\n")
    done = bridle("run", "go", "--output-format", "json")
    assert (done.code, done.json["verdict"]) == (3, "failed")
    assert bridle("run", "go", "--no-checks").code == 0
    done = ready("- says: done\n", SPEC + steps)("run", "go", "--output-format", "json")
    assert (done.code, done.json["verdict"]) == (0, "failed")


def test_ended_from_elsewhere(ready: Callable[..., Bridle]) -> None:
    bridle = ready(f"- calls: [{{tool: bash, args: {{command: '{SLEEP}'}}}}]\n")
    process = bridle.start("run", "go", "--yolo")
    wait_for(bridle.cwd / "started")
    end_from_elsewhere(bridle)
    process.communicate(timeout=60)
    assert process.returncode == 3
    (row,) = bridle("runs", "--json").json
    assert row["reason"] == "user_interrupt"


def test_trust_is_refused(ready: Callable[..., Bridle]) -> None:
    spec = SPEC + "model_policy: {base_url: 'http://127.0.0.1:9/v1', primary: openai/x}\n"
    bridle = ready("- says: done\n", spec)
    done = bridle("run", "go", "--model", "scripted/script.yaml")
    assert done.code == 4
    assert "--trust" in done.err
    assert bridle("run", "go", "--model", "scripted/script.yaml", "--trust").code == 0


@pytest.mark.parametrize(
    "call",
    ["{tool: bash, args: {command: make}}", "{tool: ask_user, args: {question: which one}}"],
    ids=["approval", "question"],
)
def test_awaiting(ready: Callable[..., Bridle], call: str) -> None:
    bridle = ready(f"- calls: [{call}]\n- says: done\n")
    done = bridle("run", "go", "--output-format", "json")
    assert (done.code, done.json["reason"]) == (6, "awaiting")
    assert len(done.json["pending"]) == 1
    assert bridle("run", "--continue").code == 6


@pytest.mark.parametrize(
    ("number", "times", "code"),
    [(signal.SIGINT, 1, 130), (signal.SIGINT, 2, 130), (signal.SIGTERM, 1, 143)],
    ids=["ctrl-c", "ctrl-c twice", "terminated"],
)
def test_interrupted_and_resumed(
    ready: Callable[..., Bridle], number: int, times: int, code: int
) -> None:
    """A request is given up at once; the run stays open and ends in another process."""
    bridle = ready("- calls: [{tool: write_file, args: {path: a.txt, content: a}}]\n"
                   "- {says: slow, stalls: 60}\n")  # fmt: skip
    process = bridle.start("run", "go", "--yolo")
    wait_for(bridle.cwd / "a.txt")
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.05)
    process.communicate(timeout=60)
    assert process.returncode == code
    (bridle.cwd / "script.yaml").write_text("- says: never\n- says: resumed\n")
    done = bridle("run", "--continue", "--yolo", "--output-format", "json")
    assert (done.code, done.json["text"]) == (0, "resumed"), done.err
    assert bridle("replay", "last").code == 0


def test_killed_and_resumed(ready: Callable[..., Bridle]) -> None:
    bridle = ready("- calls: [{tool: write_file, args: {path: a.txt, content: a}}]\n"
                   "- {says: slow, stalls: 60}\n")  # fmt: skip
    process = bridle.start("run", "go", "--yolo")
    wait_for(bridle.cwd / "a.txt")
    process.kill()
    process.communicate()
    (bridle.cwd / "script.yaml").write_text("- says: never\n- says: resumed\n")
    done = bridle("run", "--continue", "--yolo", "--output-format", "json")
    assert (done.code, done.json["text"]) == (0, "resumed"), done.err


def wait_for(path: Path, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.02)
