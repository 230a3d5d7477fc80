"""Secrets where a user meets them: the spec, the environment, the words of an error, a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import Bridle

KEY = "ghp" + "_" + "CanaryOne7" * 3 + "abcdef"


@pytest.fixture
def bridle(tmp_path: Path) -> Bridle:
    project = tmp_path / "p"
    project.mkdir()
    return Bridle(project, tmp_path)


def spec(bridle: Bridle, *redact: str) -> None:
    entries = "".join(f"    - '{entry}'\n" for entry in redact)
    (bridle.cwd / "harness.yaml").write_text(
        f"version: 1\nname: t\nexecution_policy: {{approval_profile: yolo}}\n"
        f"observability:\n  redact:\n{entries}"
    )


def test_a_spec_says_what_is_hidden(bridle: Bridle) -> None:
    spec(bridle, "ACCOUNT", "ticket-[0-9]+")
    (bridle.cwd / "f").write_text("account-of-bob ticket-123\n")
    (bridle.cwd / "s.yaml").write_text(
        "- calls: [{tool: bash, args: {command: 'cat f; echo {{secret:DEPLOY}} | rev'}}]\n"
        "- says: ok\n"
    )
    bridle.env = {"ACCOUNT": "account-of-bob", "BRIDLE_SECRET_DEPLOY": "s3cret-of-deploy"}
    task = "deploy for account-of-bob with s3cret-of-deploy"
    done = bridle("run", task, "--model", f"scripted/{bridle.cwd / 's.yaml'}")
    assert done.code == 0, done.err
    events = bridle("events", "last", "--json").out
    assert "[redacted:ACCOUNT] [redacted:custom]" in events
    assert "deploy for [redacted:ACCOUNT] with {{secret:DEPLOY}}" in events
    assert "yolped-fo-terc3s" in events  # it got the value; what it makes of it nobody can know
    kept = [path for path in (bridle.home / "b").rglob("*db*") if path.is_file()]
    stored = b"".join(path.read_bytes() for path in kept)
    assert stored
    for secret in (b"account-of-bob", b"ticket-123", b"s3cret-of-deploy"):
        assert secret not in stored


def test_a_bad_entry_is_told_with_its_line(bridle: Bridle) -> None:
    spec(bridle, "fine", "a(")
    done = bridle("validate")
    assert done.code == 2
    assert "harness.yaml:" in done.err
    assert "neither the name of a variable nor a regular expression" in done.err


def test_the_words_of_errors_are_redacted(bridle: Bridle) -> None:
    bridle.env = {"MY_TOKEN": "value-of-my-token"}
    for name in (KEY, "value-of-my-token"):
        done = bridle("run", "x", "--model", name)
        assert done.code == 2
        assert name not in done.err + done.out
        assert "[redacted:" in done.err


def test_a_crash_shows_no_secret(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from bridle.surfaces.cli import main\n"
        "def broken(*a, **k): raise RuntimeError('the key is ' + sys.argv[1])\n"
        "main.bridle.main = broken\n"
        "main.run(['runs'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, KEY], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "RuntimeError: the key is [redacted:github-token]" in done.stderr
    assert KEY not in done.stderr


def test_a_reason_given_from_another_process_is_redacted(bridle: Bridle) -> None:
    (bridle.cwd / "s.yaml").write_text(
        "- calls: [{tool: bash, args: {command: make}}]\n- says: ok\n"
    )
    model = f"scripted/{bridle.cwd / 's.yaml'}"
    assert bridle("run", "go", "--sandbox", "none", "--model", model).code == 6
    waits = bridle("approvals", "--json").json[0]
    assert bridle("reject", waits["id"], "--reason", f"never {KEY}").code == 0
    assert bridle("run", "--continue", "--sandbox", "none", "--model", model).code == 0
    events = bridle("events", "last", "--json").out
    assert "never [redacted:github-token]" in events
    assert KEY not in events
