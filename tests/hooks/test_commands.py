"""Command and URL hooks through the installed executable."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.cli import Bridle, Finished
from support.hooks import ANSWERS, SPEC, effect, events, write_project


def run(bridle: Bridle, *flags: str) -> Finished:
    return bridle("run", "go", "--trust", "--output-format", "json", *flags)


def replays(bridle: Bridle) -> bool:
    return bridle("replay", "last").code == 0


def test_exit_2_blocks_with_what_it_wrote(project: Bridle) -> None:
    command = "cat > told.json; echo 'not like this' >&2; exit 2"
    write_project(project, {"event": "PreToolUse", "command": command, "matcher": "Bash"})
    done = run(project)
    assert done.code == 0, done.err
    assert not effect(project)
    [ended] = events(project, "tool_end")
    assert ended["denied"]
    assert "not like this" in ended["result"]
    [decided] = events(project, "permission_decided")
    assert decided["layer"] == "project"
    assert decided["source"] == f"{project.cwd / 'harness.yaml'}:5"
    assert decided["trace"][-1]["rule"] == "hook:PreToolUse[0]"
    why = project("why", decided["id"])
    assert "change the hook PreToolUse[0] at" in why.out
    assert "(gives allow)" in why.out
    assert "hook · asks · hook:PreToolUse[0]" in project("policy", "explain", "bash(ls)").out
    assert "hook      PreToolUse (before) for Bash: " in project("explain").out
    told = json.loads((project.cwd / "told.json").read_text())
    assert told["hook_event_name"] == "PreToolUse"
    assert told["tool_name"] == "bash"
    assert told["tool_input"] == {"command": "echo ran > effect.txt"}
    assert told["cwd"] == str(project.cwd)
    assert replays(project)


def test_exit_0_lets_it_run(project: Bridle) -> None:
    write_project(project, {"event": "PreToolUse", "command": "echo looking; exit 0"})
    assert run(project).code == 0
    assert effect(project)
    [ran] = events(project, "hook_ran")
    assert ran["outcome"] == "passed"
    assert ran["duration_ms"] >= 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo '{garbage'", "not a JSON object"),
        ("""echo '{"descision": "block"}'""", "unknown field 'descision'"),
        ("""echo '{"decision": "maybe"}'""", "'maybe' is none of"),
        ("head -c 100000 /dev/urandom >&2; exit 3", "exited with code 3"),
        ("exit 7", "exited with code 7"),
        ("no-such-program", "exited with code 127"),
    ],
)
def test_a_hook_that_is_not_understood_blocks(project: Bridle, command: str, told: str) -> None:
    write_project(project, {"event": "PreToolUse", "command": command})
    assert run(project).code == 0
    assert not effect(project)
    [ended] = events(project, "tool_end")
    assert told in ended["result"]
    assert replays(project)


def test_on_failure_allow_lets_it_go(project: Bridle) -> None:
    hook = {"event": "PreToolUse", "command": "exit 7", "on_failure": "allow"}
    write_project(project, hook)
    assert run(project).code == 0
    assert effect(project)
    [ran] = events(project, "hook_ran")
    assert ran["outcome"] == "failed"


@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        ({"hookSpecificOutput": {"permissionDecision": "allow"}}, True),
        ({"hookSpecificOutput": {"permissionDecision": "deny"}}, False),
        ({"decision": "approve"}, True),
        ({"decision": "block", "reason": "no"}, False),
    ],
)
def test_json_on_stdout_decides(project: Bridle, answer: dict[str, Any], runs: bool) -> None:
    (project.cwd / "answer.json").write_text(json.dumps(answer))
    write_project(project, {"event": "PreToolUse", "command": "cat answer.json"})
    assert run(project, "--profile", "balanced", "--no-input").code == 0
    assert effect(project) is runs


def test_updated_input_runs_instead(project: Bridle) -> None:
    answer = {"hookSpecificOutput": {"updatedInput": {"command": "echo other > other.txt"}}}
    (project.cwd / "answer.json").write_text(json.dumps(answer))
    write_project(project, {"event": "PreToolUse", "command": "cat answer.json"})
    assert run(project).code == 0
    assert not effect(project)
    assert (project.cwd / "other.txt").exists()
    assert replays(project)


def test_continue_false_ends_the_run(project: Bridle) -> None:
    answer = {"continue": False, "stopReason": "enough"}
    (project.cwd / "answer.json").write_text(json.dumps(answer))
    write_project(project, {"event": "PreToolUse", "command": "cat answer.json"})
    done = run(project)
    assert done.code == 4
    assert done.json["reason"] == "safety_violation"
    assert "enough" in done.json["error"]["message"]
    assert replays(project)


def processes_with(word: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in line and int(entry.name) != os.getpid():
                found.append(entry.name)
    return found


def test_a_hanging_hook_is_killed_with_its_whole_tree(project: Bridle) -> None:
    mark = f"98765.{os.getpid()}"
    command = f"(setsid sleep {mark} &) ; sleep {mark} & echo up > up.txt; sleep {mark}"
    write_project(project, {"event": "PreToolUse", "command": command, "timeout": 2})
    started = time.monotonic()
    done = run(project)
    assert done.code == 0, done.err
    assert time.monotonic() - started < 50
    assert not effect(project)
    [ended] = events(project, "tool_end")
    assert "did not end within 2 s" in ended["result"]
    assert (project.cwd / "up.txt").exists()  # it had begun
    assert processes_with(mark) == []


class Hanging:
    """Accepts connections and never answers."""

    def __enter__(self) -> str:
        self.socket = socket.create_server(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}/hook"

    def __exit__(self, *_: object) -> None:
        self.socket.close()


class Answering:
    """Answers every request the same, and keeps what it was told."""

    def __init__(self, status: int, body: bytes) -> None:
        told: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                told.append(json.loads(self.rfile.read(length)))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.told = told
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def __enter__(self) -> Answering:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def test_a_url_that_hangs_blocks(project: Bridle) -> None:
    with Hanging() as url:
        write_project(project, {"event": "PreToolUse", "url": url, "timeout": 1})
        assert run(project).code == 0
    assert not effect(project)
    [ended] = events(project, "tool_end")
    assert "did not end within 1 s" in ended["result"]


@pytest.mark.parametrize(
    ("status", "body", "runs"),
    [(200, b'{"decision": "deny"}', False), (204, b"", True), (500, b"", False)],
)
def test_a_url_decides(project: Bridle, status: int, body: bytes, runs: bool) -> None:
    with Answering(status, body) as server:
        write_project(project, {"event": "PreToolUse", "url": server.url})
        assert run(project).code == 0
        assert server.told[0]["tool_name"] == "bash"
    assert effect(project) is runs


def test_a_python_handler_of_the_project(project: Bridle) -> None:
    (project.cwd / "guards.py").write_text(
        "def no_echo(context):\n"
        "    return {'decision': 'deny', 'reason': 'no echo'} if 'echo' in "
        "context.args['command'] else None\n"
    )
    hook = {"event": "tool:before_call", "type": "validate", "handler": "guards:no_echo"}
    write_project(project, hook)
    assert run(project).code == 0
    assert not effect(project)
    assert "no echo" in events(project, "tool_end")[0]["result"]


def test_a_project_s_hook_runs_in_the_sandbox(project: Bridle) -> None:
    outside = project.home / "outside.txt"
    command = f"echo in > inside.txt; echo out > {outside}"
    write_project(project, {"event": "PreToolUse", "command": command, "on_failure": "allow"})
    assert run(project).code == 0
    assert (project.cwd / "inside.txt").exists()
    assert not outside.exists()


def test_a_user_s_own_hook_needs_no_trust_and_no_sandbox(project: Bridle) -> None:
    outside = project.home / "outside.txt"
    config = project.home / "b"
    config.mkdir()
    hooks = [{"event": "PreToolUse", "command": f"echo out > {outside}; exit 2"}]
    (config / "config.yaml").write_text(f"hooks: {json.dumps(hooks)}\n")
    (project.cwd / "answers.yaml").write_text(ANSWERS)
    (project.cwd / "harness.yaml").write_text(f"{SPEC}hooks: []\n")
    done = project("run", "go", "--output-format", "json")
    assert done.code == 0, done.err
    assert outside.exists()
    assert not effect(project)  # the project's empty list does not take it away
    assert events(project, "permission_decided")[0]["layer"] == "user"


@pytest.mark.parametrize(
    ("hook", "line", "told"),
    [
        ("{event: PreToolUs, command: x}", 7, "Did you mean 'PreToolUse'"),
        ("{event: PreToolUse, comand: x}", 7, "Did you mean 'command'"),
        ("{event: memory:store, type: after, command: x}", 7, "not available yet"),
        ("{event: PreCompact, command: x}", 7, "not available yet"),
        ("{event: PreToolUse, handler: 'no_such_module:f'}", 7, "no module 'no_such_module'"),
        ("{event: PreToolUse, handler: 'json:no_such'}", 7, "has no 'no_such'"),
        ("{event: PreToolUse, command: x, priority: 200}", 7, "priority"),
        ("{event: system:shutdown, type: before, command: x}", 7, "There is no 'before' hook"),
    ],
)
def test_what_cannot_be_is_told_with_its_line(
    project: Bridle, hook: str, line: int, told: str
) -> None:
    (project.cwd / "harness.yaml").write_text(
        f"{SPEC}hooks:\n  - {{event: PreToolUse, command: 'true'}}\n  - {hook}\n"
    )
    for command in (("validate",), ("run", "go", "--trust")):
        done = project(*command)
        assert done.code == 2
        assert f"harness.yaml:{line}:" in done.err
        assert told in done.err


def test_the_schema_names_every_event(project: Bridle) -> None:
    schema = project("validate", "--schema").json
    names = schema["$defs"]["HookSection"]["properties"]["event"]["enum"]
    assert "PreToolUse" in names
    assert "tool:before_call" in names
    assert "memory:store" not in names


def test_a_harness_without_a_workspace_runs_no_command_of_a_project(project: Bridle) -> None:
    hook = "hooks: [{event: UserPromptSubmit, command: 'echo out > out.txt'}]"
    (project.cwd / "harness.yaml").write_text(f"version: 1\nname: t\nflavor: no_tool\n{hook}\n")
    done = project("run", "go", "--trust", "--model", "scripted/answers.yaml")
    assert done.code == 2
    assert "harness.yaml:4: hooks[0]: A project's command runs in the sandbox" in done.err
    assert not (project.cwd / "out.txt").exists()
