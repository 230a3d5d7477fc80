"""`bridle fix` through the executable: verified or untouched, without a network, clean to stop."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import EXECUTABLE, KEPT, Bridle

CODE = (
    "def least(values):\n    best = values[0]\n    for value in values:\n        if value > best:\n"
)
CODE += "            best = value\n    return best\n"
TEST = """\
import unittest
from small import least


class T(unittest.TestCase):
    def test_least(self):
        self.assertEqual(least([3, 1, 2]), 1)

    def test_one(self):
        self.assertEqual(least([5]), 5)
"""
HOPELESS = TEST.replace("least([3, 1, 2]), 1", "least([3, 1, 2]), 'a text that is nowhere'")
SPEC = "version: 1\nname: x\nexecution_policy: {sandbox: none}\n"


@pytest.fixture
def broken(bridle: Bridle) -> Bridle:
    for name in ("script.yaml", "notes.txt"):
        (bridle.cwd / name).unlink()
    (bridle.cwd / "harness.yaml").write_text(SPEC)
    (bridle.cwd / "small.py").write_text(CODE)
    (bridle.cwd / "test_small.py").write_text(TEST)
    return bridle


def tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_the_sample_without_network_in_under_a_minute(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    cut_off = [str(unshare), "-r", "-n"]
    if unshare is None or subprocess.run([*cut_off, "true"], check=False).returncode:
        pytest.skip("this system does not permit a network namespace of one's own")
    online = subprocess.run(
        [*cut_off, "cat", "/proc/net/route"], capture_output=True, text=True, check=True
    )
    assert len(online.stdout.splitlines()) <= 1, "there is no way out of it"
    home = tmp_path / "home"
    home.mkdir()
    started = time.monotonic()
    done = subprocess.run(
        [*cut_off, str(EXECUTABLE), "fix", "--sample"],
        cwd=tmp_path,
        env={"HOME": str(home), **{k: v for k, v in Bridle(tmp_path, home).environment().items()
                                   if k in KEPT}},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stderr
    assert "Fixed" in done.stdout
    assert time.monotonic() - started < 60


def test_it_is_fixed_undone_and_the_tests_stay(broken: Bridle) -> None:
    before = tree(broken.cwd)
    done = broken("fix", "--output-format", "json", timeout=120)
    assert (done.code, done.json["verdict"]) == (0, "verified"), done.err
    assert done.json["files_changed"] == ["small.py"]
    assert (broken.cwd / "test_small.py").read_text() == TEST
    assert broken("undo").code == 0
    assert tree(broken.cwd) == before


def test_not_fixed_leaves_everything_as_it_was(broken: Bridle) -> None:
    (broken.cwd / "test_small.py").write_text(HOPELESS)
    before = tree(broken.cwd)
    done = broken("fix", "--seconds", "4", timeout=120)
    assert done.code == 3
    assert "Not fixed" in done.out
    assert "small.py:" in done.out, "the suspicious lines are shown"
    assert tree(broken.cwd) == before


def test_nothing_to_fix_offers_the_sample(broken: Bridle) -> None:
    (broken.cwd / "small.py").write_text(CODE.replace("value > best", "value < best"))
    done = broken("fix", timeout=120)
    assert done.code == 0, done.err
    assert "bridle fix --sample" in done.out
    (broken.cwd / "test_small.py").unlink()
    done = broken("fix", timeout=120)
    assert done.code == 3
    assert "No tests were found" in done.out


def test_what_the_project_brings_is_trusted_by_the_flag(broken: Bridle) -> None:
    hooks = "hooks:\n  - {event: PreToolUse, command: 'true'}\n"
    (broken.cwd / "harness.yaml").write_text(SPEC + hooks)
    refused = broken("fix", timeout=120)
    assert refused.code == 4
    assert "run again with --trust" in refused.err
    assert (broken.cwd / "small.py").read_text() == CODE
    done = broken("fix", "--trust", timeout=120)
    assert done.code == 0, done.err


def test_a_model_does_the_same_and_cannot_change_the_tests(broken: Bridle) -> None:
    edit = {"path": "small.py", "old": "value > best", "new": "value < best"}
    cheat = {"path": "test_small.py", "content": ""}
    (broken.cwd / "script.yaml").write_text(
        f"- calls: [{{tool: write_file, args: {cheat}}}]\n"
        "- calls: [{tool: read_file, args: {path: small.py}}]\n"
        f"- calls: [{{tool: edit_file, args: {edit}}}]\n"
        "- says: Repaired.\n"
    )
    words = ("fix", "--model", "scripted/script.yaml", "--output-format", "json")
    done = broken(*words, timeout=120)
    assert (done.code, done.json["verdict"]) == (0, "verified"), done.err
    assert (broken.cwd / "test_small.py").read_text() == TEST
    ends = [e for e in broken("events", "last", "--json").lines if e["type"] == "tool_end"]
    assert [end["denied"] for end in ends] == [True, False, False]


def test_a_provider_on_the_loopback(
    broken: Bridle, chat_server: Callable[[list[Any]], Any]
) -> None:
    edit = {"path": "small.py", "old": "value > best", "new": "value < best"}
    server = chat_server(
        [
            {"calls": [{"tool": "read_file", "args": {"path": "small.py"}}]},
            {"calls": [{"tool": "edit_file", "args": edit}]},
            {"text": "Repaired."},
        ]
    )
    broken.env = server.env
    done = broken("fix", "--model", "openai/any-model", "--output-format", "json", timeout=120)
    assert (done.code, done.json["verdict"]) == (0, "verified"), done.err
    assert server.requests == 3


def test_ctrl_c_is_clean(broken: Bridle) -> None:
    (broken.cwd / "test_small.py").write_text(HOPELESS)
    before = tree(broken.cwd)
    process = broken.start("fix", "--seconds", "50")
    end = time.monotonic() + 30
    while not (row := broken("runs", "--json").json) or row[0]["steps"] < 1:
        assert time.monotonic() < end
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert tree(broken.cwd) == before
    left = subprocess.run(["pgrep", "-f", str(broken.cwd)], capture_output=True, check=False)
    deadline = time.monotonic() + 20
    while left.stdout and time.monotonic() < deadline:
        time.sleep(0.2)
        left = subprocess.run(["pgrep", "-f", str(broken.cwd)], capture_output=True, check=False)
    assert not left.stdout, "no process is left behind"
