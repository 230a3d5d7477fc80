"""`bridle run`: where the task comes from, what is printed, and what its flags change."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.cli import EXECUTABLE, Bridle

WRITES = """\
- says: I write.
  calls:
    - {tool: write_file, args: {path: out.txt, content: "new\\n"}}
    - {tool: bash, args: {command: echo made > made.txt}}
- says: Done.
"""
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "tags": {"items": {"enum": ["a", "b"]}}},
    "required": ["n"],
    "additionalProperties": False,
}
MODEL = ("--model", "scripted/script.yaml")


def script(bridle: Bridle, text: str) -> Bridle:
    (bridle.cwd / "script.yaml").write_text(text)
    return bridle


def test_the_task_comes_from_anywhere(bridle: Bridle) -> None:
    script(bridle, "- says: ok\n")
    (bridle.cwd / "task.md").write_text("from a file\n")
    assert bridle("run", "as an argument", *MODEL).code == 0
    assert bridle("run", "-p", "as an option", *MODEL).code == 0
    assert bridle("run", *MODEL, stdin="from a pipe\n").code == 0
    assert bridle("run", "-", *MODEL, stdin="from the input\n").code == 0
    assert bridle("run", "@task.md", *MODEL).code == 0
    tasks = {row["task"].strip() for row in bridle("runs", "--json").json}
    assert tasks == {
        "as an argument", "as an option", "from a pipe", "from the input", "from a file",
    }  # fmt: skip
    assert bridle("run", "twice", "-p", "given", *MODEL).code == 2


def test_every_format(bridle: Bridle) -> None:
    script(bridle, WRITES)
    text = bridle("run", "go", "--yolo", *MODEL)
    assert (text.code, text.out) == (0, "Done.\n")
    said = text.err.splitlines()
    assert said[0].startswith("run run_")
    assert "turns the sandbox off" in said[1]
    assert len(said) == 4, "a pipe is not told of steps"
    assert said[2].startswith("changed: out.txt, made.txt")

    whole = bridle("run", "go", "--yolo", *MODEL, "--output-format", "json").json
    assert set(whole) == {
        "run_id", "thread_id", "text", "output", "reason", "verdict", "exit_code", "usage",
        "cost_usd", "model", "steps", "tool_calls", "pending", "checks", "files_changed", "error",
    }  # fmt: skip
    assert set(whole["usage"]) == {
        "input_tokens", "output_tokens", "cached_tokens", "total_tokens",
    }  # fmt: skip
    assert whole["files_changed"] == [], "both are as they were"

    lines = bridle("run", "go", "--yolo", *MODEL, "--output-format", "stream-json").lines
    assert lines[-1]["type"] == "result"
    assert lines[-1]["text"] == "Done."
    kinds = [line["type"] for line in lines]
    assert {"agent_start", "message_update", "tool_end", "agent_end"} <= set(kinds)


def test_files_are_told_relative_to_where_the_run_works(bridle: Bridle) -> None:
    inner = bridle.cwd / "inner"
    inner.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=bridle.cwd, check=True)
    (inner / "harness.yaml").write_text((bridle.cwd / "harness.yaml").read_text())
    script(bridle, WRITES)
    model = f"scripted/{bridle.cwd / 'script.yaml'}"
    done = bridle("run", "go", "--yolo", "--cwd", "inner", "--model", model,
                  "--output-format", "json")  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["files_changed"] == ["out.txt", "made.txt"]
    assert (inner / "made.txt").exists()


def test_an_answer_has_the_asked_form(bridle: Bridle) -> None:
    (bridle.cwd / "schema.json").write_text(json.dumps(SCHEMA))
    words = ("run", "go", *MODEL, "--output-schema", "schema.json", "--output-format", "json")

    done = script(bridle, "- says: '{\"n\": 2}'\n")(*words)
    assert (done.code, done.json["output"], done.json["steps"]) == (0, {"n": 2}, 1)

    done = script(bridle, "- says: two\n- says: '```json\n\n    {\"n\": 2}\n\n    ```'\n")(*words)
    assert (done.code, done.json["output"], done.json["steps"]) == (0, {"n": 2}, 2), done.err
    events = bridle("events", "last", "--json").lines
    told = [e["message"]["parts"][0]["text"] for e in events
            if e["type"] == "message_end" and e["message"]["role"] == "user"]  # fmt: skip
    assert "not JSON" in told[1]
    assert bridle("replay", "last").code == 0

    wrong = script(bridle, "- says: '{\"n\": 0}'\n- says: '{\"m\": 1}'\n- says: '{\"n\": 2}'\n")
    done = wrong(*words)
    assert (done.code, done.json["output"], done.json["steps"]) == (1, None, 2)
    assert done.json["error"]["type"] == "output_invalid"
    assert "'n' is missing" in done.json["error"]["message"]
    assert bridle("replay", "last").code == 0

    for body in ("[1]", "{", '{"nosuchkeyword": 1}', '{"pattern": "("}'):
        (bridle.cwd / "schema.json").write_text(body)
        assert wrong(*words).code == 2, body


def test_one_step_at_a_time(bridle: Bridle) -> None:
    script(bridle, WRITES)
    words = ("--yolo", *MODEL, "--single-step")
    done = bridle("run", "go", *words, "--output-format", "json")
    assert (done.code, done.json["steps"], done.json["tool_calls"]) == (0, 1, 2), done.err
    assert (bridle.cwd / "made.txt").exists()
    (row,) = bridle("runs", "--json").json
    assert row["status"] == "running"
    events = bridle("events", "last", "--json").lines
    assert [e["type"] for e in events].count("budget_reserved") == 1, (
        "the second request was not begun"
    )
    done = bridle("run", "--continue", *words)
    assert (done.code, done.out) == (0, "Done.\n")
    assert bridle("replay", "last").code == 0


def test_a_terminal_sees_the_work(bridle: Bridle) -> None:
    (bridle.cwd / "out.txt").write_text("old\n")
    script(bridle, WRITES)
    shown = on_terminal(bridle, "run", "go", "--yolo", *MODEL, "--max-steps", "4")
    for part in ("I write.", "write_file out.txt", "-old", "+new", "bash echo made", "step 1",
                 "50% of max_steps", "tokens", "USD", "end_turn, claimed"):  # fmt: skip
        assert part in shown, part
    assert shown.count("Done.") == 1, "the answer is not said twice"


def test_an_approval_is_asked_on_the_terminal(bridle: Bridle) -> None:
    script(bridle, "- calls: [{tool: bash, args: {command: touch x.txt}}]\n- says: Done.\n")
    shown = on_terminal(bridle, "run", "go", *MODEL, answers=b"w\ny\n")
    assert "Run it?" in shown
    assert "Done." in shown
    assert (bridle.cwd / "x.txt").exists()


@pytest.mark.parametrize(
    ("leave", "code", "told"),
    [
        (lambda ours, _process: os.write(ours, b"\x04"), 6, "bridle approve apr_"),
        (lambda _ours, process: process.send_signal(signal.SIGINT), 130, "bridle run --continue"),
    ],
    ids=["the end of the input", "Ctrl-C"],
)
def test_an_approval_can_be_left_for_later(
    bridle: Bridle, leave: Any, code: int, told: str
) -> None:
    script(bridle, "- calls: [{tool: bash, args: {command: touch x.txt}}]\n- says: Done.\n")
    ours, process = at_terminal(bridle, "run", "go", *MODEL)
    shown = b""
    while b"for later]" not in shown:
        shown += os.read(ours, 4096)
    leave(ours, process)
    shown += rest_of(ours)
    assert process.wait(30) == code
    for part in ("touch x.txt", "always: ", told):
        assert part in shown.decode(), part
    assert not (bridle.cwd / "x.txt").exists()
    assert [row["status"] for row in bridle("runs", "--json").json] == ["awaiting"]


def on_terminal(bridle: Bridle, *arguments: str, answers: bytes = b"") -> str:
    ours, process = at_terminal(bridle, *arguments)
    os.write(ours, answers)
    shown = rest_of(ours).decode()
    assert process.wait(timeout=60) == 0, shown
    return shown


def at_terminal(bridle: Bridle, *arguments: str) -> tuple[int, subprocess.Popen[bytes]]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(EXECUTABLE), *arguments],
        cwd=bridle.cwd,
        env={**bridle.environment(), "TERM": "dumb", "NO_COLOR": "1"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    return ours, process


def rest_of(terminal: int) -> bytes:
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    return shown


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tree(root: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(root)): (path.stat().st_mode, digest(path))
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


@pytest.mark.parametrize("kind", ["plain", "repository"])
def test_undo_restores_every_file(bridle: Bridle, kind: str) -> None:
    if kind == "repository":
        subprocess.run(["git", "init", "-q"], cwd=bridle.cwd, check=True)
    (bridle.cwd / "old.bin").write_bytes(bytes(range(256)))
    script(bridle, WRITES.replace("echo made > made.txt", "echo x >> notes.txt; rm old.bin"))
    before = tree(bridle.cwd)
    assert bridle("run", "go", "--yolo", *MODEL).code == 0
    after = tree(bridle.cwd)
    assert after != before
    assert bridle("undo").code == 0
    assert tree(bridle.cwd) == before
    assert bridle("undo", "--redo").code == 0
    assert tree(bridle.cwd) == after


def test_a_spec_holds_everywhere_below_it_in_its_repository(bridle: Bridle) -> None:
    subprocess.run(["git", "init", "-q"], cwd=bridle.cwd, check=True)
    inner = bridle.cwd / "src" / "deep"
    inner.mkdir(parents=True)
    (inner / "AGENTS.md").write_text("Mind the gap.\n")
    script(
        bridle, "- calls: [{tool: write_file, args: {path: made.txt, content: x}}]\n- says: ok\n"
    )
    spec = bridle.cwd / "harness.yaml"
    spec.write_text(spec.read_text() + "model_policy: {primary: scripted/script.yaml}\n")
    below = replace(bridle, cwd=inner)
    done = below("run", "go", "--yolo", "--output-format", "json")
    assert (done.code, done.json["files_changed"]) == (0, ["made.txt"])
    assert (bridle.cwd / "made.txt").exists()
    (asked,) = below("events", "last", "--requests", "--json").lines[:1]
    assert "The user is in: src/deep" in str(asked)
    assert "Mind the gap." in str(asked)
    told = below("run", "--continue", "more", "--yolo").err
    assert f"working in {bridle.cwd}, which has the harness.yaml" in told
    assert below("validate").code == 0
    assert bridle("threads", "--json").json[0]["resource_id"] == str(bridle.cwd)


def test_a_spec_outside_the_repository_does_not_hold_in_it(bridle: Bridle) -> None:
    inner = bridle.cwd / "vendored"
    inner.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=inner, check=True)
    assert bridle("validate").code == 0
    assert replace(bridle, cwd=inner)("validate").code == 2


def test_a_path_to_fix_below_a_spec_is_told(bridle: Bridle) -> None:
    subprocess.run(["git", "init", "-q"], cwd=bridle.cwd, check=True)
    (bridle.cwd / "src").mkdir()
    told = f"{bridle.cwd / 'harness.yaml'} does not hold here"
    assert told in bridle("fix", "src", "--sandbox", "none").err


def test_a_task_behind_an_open_question_is_said_to_be_queued(bridle: Bridle) -> None:
    (bridle.cwd / "ask.yaml").write_text(
        "- calls: [{tool: bash, args: {command: touch made}}]\n- says: done\n"
    )
    model = ("--model", "scripted/ask.yaml", "--no-checks")
    first = bridle("run", "first", *model)
    assert first.code == 6
    assert "queued" not in first.err
    second = bridle("run", "--continue", "second", *model)
    assert second.code == 6
    assert "queued: the task starts when the run before it has ended" in second.err
