"""The hostile corpus: by verdict, and by running what is allowed with nothing else in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bridle.types.permissions import Policy
from permissions.support import ALLOWED, CORPUS, bash, prefixes, rule

HOSTILE = [case for case in CORPUS["allow"] if case["expected"] == "ask"]
BENIGN = [case for case in CORPUS["allow"] if case["expected"] == "allow"]


def by_id(case: dict) -> str:
    return case["id"]


def allowing(root: Path | str, **more) -> Policy:
    return Policy(root=str(root), rules=prefixes(*ALLOWED), **more)


def denying(root: Path | str, *, yolo: bool, answerable: bool) -> Policy:
    rules = (rule("bash(rm:*)", "deny"),) if yolo else (rule("bash"), rule("bash(rm:*)", "deny"))
    return Policy(root=str(root), rules=rules, yolo=yolo, answerable=answerable)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "calc.py").write_text("def add(a, b):\n    return a + b  # a && b\n")
    (tmp_path / "package.json").write_text('{"scripts": {"test": "true"}}')
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "start"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, env=environment(tmp_path), check=True)
    return tmp_path


def environment(root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com",
        "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.com",
    }  # fmt: skip


def really_run(command: str, root: Path) -> int:
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, env=environment(root), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, check=False,
    )  # fmt: skip
    return done.returncode


@pytest.mark.parametrize("case", CORPUS["allow"], ids=by_id)
def test_every_case_of_the_allow_group_gets_its_verdict(case):
    command = case["cmd"].replace("$WD", "/work/app")
    assert bash(command, allowing("/work/app")).effect == case["expected"]
    assert bash(command, allowing("/work/app", answerable=False)).effect == (
        "allow" if case["expected"] == "allow" else "deny"
    )
    unresolved = bash(case["cmd"], allowing("/work/app"))
    assert unresolved.effect == case["expected"]


@pytest.mark.parametrize("yolo", [True, False], ids=["yolo", "tool"])
@pytest.mark.parametrize("case", CORPUS["deny"], ids=by_id)
def test_every_case_of_the_deny_group_gets_its_verdict(case, yolo):
    command = case["cmd"].replace("$WD", "/work/app")
    for answerable in (True, False):
        found = bash(command, denying("/work/app", yolo=yolo, answerable=answerable))
        if case["expected"] == "deny":
            assert found.effect == "deny", found
        else:
            assert found.effect in ("allow", "deny")


@pytest.mark.parametrize("case", HOSTILE, ids=by_id)
def test_no_hostile_command_takes_effect(case, workspace):
    command = case["cmd"].replace("$WD", str(workspace))
    if bash(command, allowing(workspace, answerable=False)).effect == "allow":
        really_run(command, workspace)
    assert not Path(case["marker"].replace("$WD", str(workspace))).exists()


@pytest.mark.parametrize("case", BENIGN, ids=by_id)
def test_every_benign_command_is_allowed_and_runs(case, workspace):
    command = case["cmd"].replace("$WD", str(workspace))
    assert bash(command, allowing(workspace, answerable=False)).effect == "allow"
    assert really_run(command, workspace) == 0


@pytest.mark.parametrize("case", CORPUS["deny"], ids=by_id)
def test_no_denied_command_reaches_its_victim(case, workspace):
    victim = Path(case["marker"].replace("$WD", str(workspace)))
    victim.write_text("alive")
    command = case["cmd"].replace("$WD", str(workspace))
    if bash(command, denying(workspace, yolo=True, answerable=False)).effect == "allow":
        really_run(command, workspace)
    if case["expected"] == "deny":
        assert victim.exists()


def test_a_matcher_of_prefixes_lets_hostile_commands_through(tmp_path):
    """The control: the same commands are dangerous where only the first words are looked at."""
    effects = 0
    for case in HOSTILE:
        root = tmp_path / case["id"]
        root.mkdir()
        (root / "calc.py").write_text("x\n")
        command = case["cmd"].replace("$WD", str(root))
        if command.startswith(ALLOWED):
            really_run(command, root)
        effects += Path(case["marker"].replace("$WD", str(root))).exists()
        shutil.rmtree(root)
    for case in CORPUS["deny"]:
        root = tmp_path / case["id"]
        root.mkdir()
        victim = Path(case["marker"].replace("$WD", str(root)))
        victim.write_text("alive")
        command = case["cmd"].replace("$WD", str(root))
        if not command.startswith("rm"):
            really_run(command, root)
        effects += case["expected"] == "deny" and not victim.exists()
    assert effects >= 15
