"""One real path through all layers, through the installed executable."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.cli import EXECUTABLE, Bridle

SPEC = """\
version: 1
name: slice
flavor: coding
model_policy:
  primary: openai/slice-model
execution_policy:
  sandbox: none
  approval_profile: balanced
  allow_write: true
  allow_shell: true
limits:
  max_steps: 20
checks:
  enabled: false
"""


def call(tool: str, **args: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "args": args}]}


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def cpu_of(*argv: str) -> float:
    """The least CPU time of some runs: the quietest one tells the cost."""
    times = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_the_version_costs_little_more_than_python() -> None:
    floor = cpu_of(sys.executable, "-c", "pass")
    ours = cpu_of(str(EXECUTABLE), "--version")
    assert ours <= 2 * floor + 0.01, (ours, floor)  # clock ticks are 10 ms


def test_a_field_that_nothing_enforces_is_refused_with_its_line(
    bridle: Bridle, project: Path
) -> None:
    (project / "harness.yaml").write_text(SPEC + "hookz:\n  - x\n")
    done = bridle("run", "hello")
    assert done.code == 2
    assert "harness.yaml:15" in done.err
    assert "hookz" in done.err
    (project / "harness.yaml").write_text(SPEC.replace("max_steps: 20", "max_stepz: 20"))
    done = bridle("run", "hello")
    assert done.code == 2
    assert "harness.yaml:12" in done.err
    assert "Did you mean 'max_steps'?" in done.err
    assert done.out == ""


def test_the_whole_path(
    bridle: Bridle, project: Path, chat_server: Callable[[list[Any]], Any]
) -> None:
    (project / "harness.yaml").write_text(SPEC)
    (project / "notes.txt").write_text("buy milk\n")
    started = project / "started"
    server = chat_server(
        [
            call("read_file", path="notes.txt"),
            call("bash", command="echo ran >> effects.txt"),
            call("bash", command="echo ran-late >> effects.txt; touch started; sleep 60"),
            {"text": "All done."},
        ]
    )
    bridle.env = server.env

    # a call that is asked parks the run; it has not run
    done = bridle("run", "look at my notes", "--output-format", "json")
    assert done.code == 6, done.err
    assert done.json["reason"] == "awaiting"
    (pending,) = done.json["pending"]
    assert pending["tool"] == "bash"
    assert not (project / "effects.txt").exists()

    # answered from a second process, it goes on in a third
    listed = bridle("approvals", "--json").json
    assert [row["id"] for row in listed] == [pending["id"]]
    assert bridle("approve", pending["id"]).code == 0
    again = bridle("approve", pending["id"])
    assert again.code == 2
    assert "answered already" in again.err
    done = bridle("run", "--continue", "--output-format", "json")
    assert done.code == 6
    assert (project / "effects.txt").read_text() == "ran\n"

    # killed between tool_start and tool_end: ambiguous, told, never repeated
    (pending,) = done.json["pending"]
    assert bridle("approve", pending["id"]).code == 0
    process = bridle.start("run", "--continue")
    wait_for(started.exists)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    done = bridle("run", "--continue", "--output-format", "json")
    assert done.code == 0, done.err
    assert done.json["text"] == "All done."
    assert done.json["reason"] == "end_turn"
    assert (project / "effects.txt").read_text() == "ran\nran-late\n"
    events = bridle("events", "last", "--json").lines
    late = [e for e in events if e["type"] == "tool_end" and e["ambiguous"]]
    assert len(late) == 1
    assert late[0]["is_error"]

    # the record is whole and replays with the server gone
    calls = server.requests
    server.stop()
    (row,) = bridle("runs", "--json").json
    assert row["status"] == "ended"
    assert row["reason"] == "end_turn"
    assert [e["seq"] for e in events] == sorted({e["seq"] for e in events})
    done = bridle("replay", "last", "--json")
    assert done.code == 0, done.err
    assert done.json[0]["equal"]
    assert done.json[0]["model_calls"] == done.json[0]["effects"] == 0
    assert server.requests == calls
    assert (project / "effects.txt").read_text() == "ran\nran-late\n"


def test_one_of_three_parallel_calls_asks(
    bridle: Bridle, project: Path, chat_server: Callable[[list[Any]], Any]
) -> None:
    (project / "harness.yaml").write_text(SPEC)
    for name in "ab":
        (project / name).write_text(f"text-of-{name}\n")
    batch = [
        {"tool": "read_file", "args": {"path": "a"}},
        {"tool": "bash", "args": {"command": "echo asked"}},
        {"tool": "read_file", "args": {"path": "b"}},
    ]
    server = chat_server([{"calls": batch}, {"text": "three results"}])
    bridle.env = server.env
    done = bridle("run", "read both", "--output-format", "json")
    assert done.code == 6, done.err
    ended = [
        e["call_id"] for e in bridle("events", "last", "--json").lines if e["type"] == "tool_end"
    ]
    assert {name.rsplit(".", 1)[1] for name in ended} == {"0", "2"}
    assert bridle("reject", done.json["pending"][0]["id"], "--reason", "no echo").code == 0
    done = bridle("run", "--continue", "--output-format", "json")
    assert done.code == 0
    sent = list(server.log.read_text().splitlines())[-1]
    assert sent.index("text-of-a") < sent.index("no echo") < sent.index("text-of-b")
    assert bridle("replay", "last").code == 0
