"""A fork has the conversation and the files of an earlier event; the parent keeps its own."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.cli import Bridle

EDITS = """\
- calls: [{tool: write_file, args: {path: one.txt, content: "one\\n"}}]
- calls: [{tool: bash, args: {command: "echo two > two.txt; echo changed > notes.txt"}}]
- says: Done.
"""


def files(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


@pytest.fixture(params=["plain", "repository"])
def edited(request: pytest.FixtureRequest, bridle: Bridle) -> Bridle:
    (bridle.cwd / "script.yaml").write_text(EDITS)
    if request.param == "repository":
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "first"]):
            subprocess.run(["git", *words], cwd=bridle.cwd, check=True, env={**os.environ})
    done = bridle("run", "edit", "--yolo", "--model", "scripted/script.yaml")
    assert done.code == 0, done.err
    return bridle


def test_files_and_conversation_as_of_an_event(edited: Bridle) -> None:
    events = edited("events", "last", "--json").lines
    ends = [e["seq"] for e in events if e["type"] == "tool_end"]
    before = files(edited.cwd)
    log = edited("verify", "last", "--json").json
    status = git_status(edited.cwd)

    done = edited("fork", f"last@{ends[0]}", "early", "--json")
    assert done.code == 0, done.err
    (row,) = done.json
    copy = Path(row["directory"])
    assert copy == edited.cwd.with_name("project-early")
    assert (copy / "one.txt").read_text() == "one\n"
    assert not (copy / "two.txt").exists()
    assert (copy / "notes.txt").read_text() == "buy milk\n"
    assert row["messages"] == 3

    (last,) = edited("fork", "last", "late", "--json").json
    assert files(Path(last["directory"])) == before
    assert last["messages"] == 6

    assert files(edited.cwd) == before
    assert edited("verify", "last", "--json").json == log
    assert git_status(edited.cwd) == status
    again = edited("fork", "last", "late")
    assert again.code == 2
    assert "exists already" in again.err


def git_status(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    words = ["git", "status", "--porcelain"]
    return subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout


def test_the_fork_goes_on(edited: Bridle) -> None:
    (row,) = edited("fork", "last", "on", "--json").json
    there = Bridle(cwd=Path(row["directory"]), home=edited.home)
    (there.cwd / "next.yaml").write_text("- says: I remember.\n")
    done = there("run", "go on", "--continue", "--model", "scripted/next.yaml")
    assert done.code == 0, done.err
    assert there("replay", "last").code == 0
    (newest,) = [r for r in there("runs", "--json").json if r["task"] == "go on"]
    assert newest["thread_id"] == row["thread_id"]


def tree_hash(root: Path) -> str:
    """What git calls the files of a directory, counted in an index of its own."""
    with tempfile.TemporaryDirectory() as place:
        env = {**os.environ, "GIT_INDEX_FILE": f"{place}/index", "GIT_DIR": f"{place}/git"}
        env["GIT_WORK_TREE"] = str(root)
        for words in (["init", "-q"], ["add", "-A", "."]):
            subprocess.run(["git", *words], cwd=root, check=True, env=env)
        words = ["git", "write-tree"]
        done = subprocess.run(words, cwd=root, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_tree_of_a_fork_is_that_of_the_event(edited: Bridle) -> None:
    before = tree_hash(edited.cwd)
    events = edited("events", "last", "--json").lines
    taken = [e for e in events if e["type"] == "checkpoint_taken"][-1]
    of_call = [e for e in events if e.get("call_id") == taken["call_id"]]
    end = next(e for e in of_call if e["type"] == "tool_end")
    start = next(e for e in of_call if e["type"] == "tool_start")
    for seq, tree in ((end["seq"], taken["after"]), (start["seq"], taken["before"])):
        (row,) = edited("fork", f"last@{seq}", f"at-{seq}", "--json").json
        assert tree_hash(Path(row["directory"])) == tree
    assert taken["before"] != taken["after"]
    assert tree_hash(edited.cwd) == before


def test_a_fork_has_settings_of_its_own(edited: Bridle) -> None:
    before = files(edited.cwd)
    (edited.cwd / "next.yaml").write_text("- says: Another model.\n")
    change = ("--set", "limits.max_steps=2", "--set", "model_policy.primary=scripted/next.yaml")
    (row,) = edited("fork", "last", "set", *change, "--json").json
    there = Bridle(cwd=Path(row["directory"]), home=edited.home)
    (found,) = there("config", "--explain", "limits.max_steps", "--json").json
    assert (found["value"], found["layer"]) == (2, "local")
    assert [o["layer"] for o in found["overrode"]] == ["harness.yaml"]
    done = there("run", "go on", "--continue")
    assert (done.code, done.out) == (0, "Another model.\n"), done.err
    assert ".bridle" not in git_status(there.cwd)
    assert files(edited.cwd) == before | {"next.yaml": files(edited.cwd)["next.yaml"]}
    for wrong in ("limits.max_stepz=2", "limits.max_steps=many", "nothing"):
        done = edited("fork", "last", "wrong", "--set", wrong)
        assert done.code == 2, wrong
        assert not edited.cwd.with_name("project-wrong").exists()
