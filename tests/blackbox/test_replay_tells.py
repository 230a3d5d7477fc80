"""A replay finds the first event that is not what the run would do again."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from bridle.types.chain import GENESIS, link
from support.cli import EXECUTABLE, Bridle

SCRIPT = """\
- calls: [{tool: read_file, args: {path: notes.txt}}]
- says: It says hello.
"""


@pytest.fixture
def recorded(bridle: Bridle, project: Path) -> Bridle:
    (project / "notes.txt").write_text("hello\n")
    (project / "script.yaml").write_text(SCRIPT)
    arguments = ("--model", "scripted/script.yaml", "--sandbox", "none")
    assert bridle("run", "read my notes", *arguments).code == 0
    assert bridle("replay", "last").code == 0
    return bridle


def alter(bridle: Bridle, kind: str, old: str, new: str, *, forge: bool) -> int:
    """Change one event behind Bridle's back; a forger makes the hashes fit. Returns its seq."""
    db = sqlite3.connect(bridle.home / "b" / "bridle.db")
    with db:
        seq, body = db.execute("select seq, body from events where type = ?", (kind,)).fetchone()
        changed = bytes(body).decode().replace(old, new)
        assert changed != bytes(body).decode()
        db.execute("update events set body = ? where seq = ?", (changed.encode(), seq))
        if forge:
            head = GENESIS
            for place, text in db.execute("select seq, body from events order by seq").fetchall():
                head = link(head, bytes(text))
                db.execute("update events set hash = ? where seq = ?", (head, place))
            db.execute("update threads set head_hash = ?", (head,))
    db.close()
    return int(seq)


def test_a_decision_that_would_come_out_differently(recorded: Bridle) -> None:
    allowed, noticed = '"effect":"allow"', '"effect":"notify"'
    seq = alter(recorded, "permission_decided", allowed, noticed, forge=True)
    done = recorded("replay", "last")
    assert done.code == 1
    first, was, now = done.err.splitlines()
    assert first == f"replay differs at event {seq}"
    assert "recorded:" in was
    assert noticed in was
    assert "replayed:" in now
    assert allowed in now


def test_a_result_that_was_changed(recorded: Bridle) -> None:
    alter(recorded, "tool_end", "hello", "howdy", forge=False)
    done = recorded("replay", "last")
    assert done.code == 1
    assert "chain is broken" in done.err or "the record was changed" in done.err


def test_without_a_network_and_without_the_files(recorded: Bridle, project: Path) -> None:
    tried = ["unshare", "--user", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*tried, "true"], check=False).returncode:
        pytest.skip("namespaces cannot be made here")
    shutil.rmtree(project)
    project.mkdir()
    done = subprocess.run(
        [*tried, str(EXECUTABLE), "replay", "last"],
        cwd=project,
        env=recorded.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("equal: ")
    assert list(project.iterdir()) == []


def test_a_run_that_does_not_exist(recorded: Bridle) -> None:
    done = recorded("replay", "nosuch")
    assert done.code == 2
    assert "bridle runs" in done.err
