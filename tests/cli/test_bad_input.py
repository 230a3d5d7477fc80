"""What is given wrongly is told in a line that says what to do; nothing is ever a traceback."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from support.cli import EXECUTABLE, Bridle

MODEL = ("--model", "scripted/hello.yaml")
RUN = f"run go --model {MODEL[1]}"


@pytest.fixture
def hello(bridle: Bridle) -> Bridle:
    (bridle.cwd / "hello.yaml").write_text("- says: hello\n")
    return bridle


def shell(bridle: Bridle, line: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a shell does that closes or redirects its streams."""
    return subprocess.run(
        ["bash", "-c", f"{EXECUTABLE} {line}"],
        cwd=bridle.cwd,
        env=bridle.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "code", "out"),
    [
        (f"{RUN} <&-", 0, "hello\n"),
        (f"{RUN} 2>&-", 0, "hello\n"),
        (f"{RUN} --output-format json >&-", 0, ""),
        ("runs <&- >&- 2>&-", 0, ""),
        (f"run --model {MODEL[1]} <&-", 2, ""),
        ("runs >/dev/full", 1, ""),
        (f"{RUN} --output-format json >/dev/full", 1, ""),
        (f"{RUN} --output-format stream-json >/dev/full", 1, ""),
        (f"{RUN} 2>/dev/full", 1, ""),
    ],
)
def test_streams_that_are_closed_or_full(hello: Bridle, line: str, code: int, out: str) -> None:
    done = shell(hello, line)
    assert (done.returncode, done.stdout) == (code, out)
    assert "Traceback" not in done.stderr


def test_a_run_goes_on_when_nobody_reads_its_events(hello: Bridle) -> None:
    done = shell(hello, f"{RUN} --output-format stream-json | head -1")
    assert '"input_admitted"' in done.stdout
    assert "Traceback" not in done.stderr
    (run,) = hello("runs", "--json").json
    assert run["reason"] == "end_turn"


def test_a_task_is_text(hello: Bridle) -> None:
    piped = subprocess.run(
        [str(EXECUTABLE), "run", *MODEL],
        cwd=hello.cwd,
        env=hello.environment(),
        input=b"fix \xff\xfe",
        capture_output=True,
        check=False,
    )
    assert (piped.returncode, piped.stdout) == (2, b"")
    assert b"The task on the standard input is not UTF-8 text" in piped.stderr
    given = hello("run", os.fsdecode(b"fix \xff"), *MODEL)
    assert (given.code, given.out) == (2, "")
    assert "is not UTF-8 text" in given.err
    assert hello("runs", "--json").json == []


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--max-usd", "nan"), "nan is not an amount"),
        (("--max-usd", "inf"), "inf is not an amount"),
        (("--timeout", "nan"), "nan is not an amount"),
        (("--continue", "--thread", "thr_1"), "--continue or --thread, not both"),
    ],
)
def test_flags_that_mean_nothing(hello: Bridle, flags: tuple[str, ...], told: str) -> None:
    done = hello("run", "go", *MODEL, *flags)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_an_empty_task_does_not_go_on_with_the_open_run(hello: Bridle) -> None:
    assert hello("run", "go", *MODEL).code == 0
    assert "There is no task" in hello("run", "--continue", " ", *MODEL).err


@pytest.mark.parametrize("kind", ["json", "stream-json"])
def test_a_refusal_is_a_result_too(bridle: Bridle, kind: str) -> None:
    done = bridle("run", "go", "--output-format", kind)
    (result,) = done.lines
    assert done.code == result["exit_code"] == 2
    assert (result["run_id"], result["reason"], result["verdict"]) == (None, "error", "stopped")
    assert result["error"]["type"] == "configuration"
    assert "No model can be chosen" in result["error"]["message"]
    assert (result.get("type") == "result") == (kind == "stream-json")


SPECS: dict[str, tuple[str, str | None]] = {
    "a word of the format": ("model_policy: {reasoning: off}", None),
    "a word for a boolean": ("execution_policy: {allow_shell: no}", None),
    "a name that is a word": ('checks: {custom_steps: [{name: on, command: "true"}]}', None),
    "no word for a boolean": ("execution_policy: {allow_shell: perhaps}", "Expected `bool`"),
    "twice": ("name: other", ":3: name is given twice, first in line 2"),
    "a value that is not known": (
        "flavor: codng",
        ":3: Unknown value of flavor 'codng'; have coding, no_tool. Did you mean 'coding'?",
    ),
    "a value in a list": (
        'policy_tests: [{call: "bash(ls)", expect: maybe}]',
        "Unknown value of policy_tests.0.expect 'maybe'; have allow, ask, deny, notify.",
    ),
    "itself": ("checks: &a {custom_steps: [*a]}", "is not valid YAML"),
    "far too much": (
        "a: &a [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n"
        + "".join(
            f"{name}: &{name} [{', '.join([f'*{below}'] * 10)}]\n"
            for below, name in zip("abcdefg", "bcdefgh", strict=True)
        ),
        "has more than 100000 fields",
    ),
}


@pytest.mark.parametrize("case", SPECS)
def test_what_a_spec_says(bridle: Bridle, case: str) -> None:
    text, told = SPECS[case]
    (bridle.cwd / "harness.yaml").write_text(f"version: 1\nname: demo\n{text}\n")
    done = bridle("validate")
    assert done.code == (0 if told is None else 2)
    assert told is None or told in done.err


def test_a_word_that_denies_is_never_taken_back(bridle: Bridle) -> None:
    text = "version: 1\nname: demo\nexecution_policy: {allow_shell: no}\n"
    (bridle.cwd / "harness.yaml").write_text(text)
    bridle.env["BRIDLE_EXECUTION_POLICY__ALLOW_SHELL"] = "yes"
    bridle.env["BRIDLE_MODEL_POLICY__REASONING"] = "off"
    rows: dict[str, Any] = {row["key"]: row["value"] for row in bridle("config", "--json").json}
    assert rows["execution_policy.allow_shell"] is False
    assert rows["model_policy.reasoning"] == "off"


def test_numbers_are_read_aloud(hello: Bridle) -> None:
    assert ": 1 step, " in hello("run", "go", *MODEL, "--no-checks").err
    assert " in 1 thread, " in hello("verify", "last").out
    (hello.cwd / "more.yaml").write_text(
        "- calls: [{tool: read_file, args: {path: hello.yaml}}]\n- says: a\n"
    )
    done = hello("run", "go", "--model", "scripted/more.yaml", "--no-checks")
    assert ": 2 steps, " in done.err


def test_a_limit_says_where_it_is_set(hello: Bridle) -> None:
    (hello.cwd / "more.yaml").write_text(
        "- calls: [{tool: read_file, args: {path: hello.yaml}}]\n- says: a\n"
    )
    done = hello("run", "go", "--model", "scripted/more.yaml", "--max-steps", "1")
    assert done.code == 5
    assert "--max-steps" in done.err


def test_a_user_without_a_home_is_told(hello: Bridle) -> None:
    hello.env["HOME"] = "~"  # as for a user that the system does not know
    done = hello("runs")
    assert (done.code, done.out) == (2, "")
    assert "set HOME" in done.err


def test_a_directory_that_is_gone_is_told(hello: Bridle) -> None:
    done = shell(hello, f"--help; mkdir gone; cd gone; rmdir ../gone; {EXECUTABLE} runs")
    assert done.returncode == 2
    assert "The current directory does not exist any more" in done.stderr
