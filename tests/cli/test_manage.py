"""Following, settings, schemas and completion."""

from __future__ import annotations

import json
import subprocess

import pytest

from support.cli import EXECUTABLE, Bridle


def test_tail_shows_what_another_process_commits(recorded: Bridle) -> None:
    process = subprocess.Popen(
        [str(EXECUTABLE), "tail", "--json", "--from-start"],
        cwd=recorded.cwd,
        env=recorded.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        first = read_until(process.stdout, "agent_end")
        assert [event["seq"] for event in first] == list(range(1, len(first) + 1))
        assert recorded("run", "again", "--model", "scripted/script.yaml").code == 0
        more = read_until(process.stdout, "agent_end")
        of_first = [e["type"] for e in more if e["thread_id"] == first[0]["thread_id"]]
        assert set(of_first) == {"workspace_status_changed"}  # its process let go the workspace
        more = more[len(of_first) :]
        assert more[0]["type"] == "thread_created"
        assert [event["seq"] for event in more] == list(range(1, len(more) + 1))
    finally:
        process.kill()
        process.communicate()
    done = recorded("tail", "--thread", "thr_nosuch")
    assert done.code == 2


def read_until(stream, kind):  # type: ignore[no-untyped-def]
    found = []
    while not found or found[-1]["type"] != kind:
        line = stream.readline()
        assert line
        event = json.loads(line)
        if event["type"] != "lease_taken" or found:
            found.append(event)
    return found


def test_config_tells_the_origin(bridle: Bridle) -> None:
    (row,) = bridle("config", "--explain", "limits.max_steps", "--json").json
    assert (row["value"], row["layer"]) == (9, "harness.yaml")
    assert row["source"].endswith("harness.yaml:10")
    (row,) = bridle("config", "--explain", "execution_policy.allow_shell", "--json").json
    assert (row["value"], row["layer"]) == (True, "default")
    (row,) = bridle("config", "--explain", "directories.state", "--json").json
    assert row["source"] == "BRIDLE_HOME"
    done = bridle("config", "--explain", "limits.max_stepz")
    assert done.code == 2
    assert "Did you mean 'limits.max_steps'?" in done.err
    assert bridle("config").out.startswith("KEY")


def test_schemas(bridle: Bridle) -> None:
    found = bridle("schema").json
    assert "HarnessSpec" in found["spec"]["$defs"]
    events = bridle("schema", "events").json
    tags = set(events["discriminator"]["mapping"])
    assert {"agent_start", "tool_end", "message_update"} <= tags


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(bridle: Bridle, shell: str) -> None:
    done = bridle("completion", shell)
    assert done.code == 0, done.err
    assert "_BRIDLE_COMPLETE" in done.out


def test_completion_completes(bridle: Bridle) -> None:
    bridle.env = {
        "_BRIDLE_COMPLETE": "bash_complete",
        "COMP_WORDS": "bridle ver",
        "COMP_CWORD": "1",
    }
    assert bridle().out.split() == ["plain,verify"]
