from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.testing import calls, says
from tools_builtin.conftest import git, results

pytestmark = pytest.mark.anyio
TOOLS = ("git_diff", "git_log", "git_commit")


@pytest.fixture
def repository(root: Path, home: Path) -> Path:
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


async def play(opened, model, *items, **options):
    model.plays(*items, says("done"))
    async with opened(tools=TOOLS, **options) as harness:
        session = await harness.session()
        await session.send("go")
        events = await harness.store.events(session.thread_id)
    return results(events)


async def test_changes_history_and_commits_of_named_paths_only(opened, model, repository: Path):
    (repository / "a.txt").write_text("two\n")
    (repository / "b.txt").write_text("b\n")
    (repository / "c.txt").write_text("c\n")
    told = await play(
        opened,
        model,
        calls("git_diff"),
        calls("git_commit", message="Say two\n\nBecause.", paths=["a.txt", "b.txt"]),
        calls("git_log", limit=1),
        calls("git_diff", base="HEAD~1"),
        calls("git_commit", message="Nothing is staged"),
        calls("git_commit", message="All", paths=["."]),
        calls("git_log", revision="--output=x"),
    )
    diff, commit, log, since, staged, everything, option = told
    assert "-one\n+two" in diff.result
    assert "Untracked: b.txt" in diff.result
    assert commit.result.splitlines()[1:] == ["a.txt", "b.txt"]
    assert "Say two" in log.result
    assert "Ada" in log.result
    assert "+b" in since.result
    assert "Untracked: c.txt" in since.result
    assert staged.kind == "nothing_to_commit"
    assert everything.is_error
    assert option.is_error
    assert git(repository, "status", "--porcelain").strip() == "?? c.txt"
    assert git(repository, "log", "-1", "--format=%B").strip() == "Say two\n\nBecause."


async def test_staged_changes_are_committed_and_nothing_else(opened, model, repository: Path):
    (repository / "a.txt").write_text("staged\n")
    git(repository, "add", "a.txt")
    (repository / "a.txt").write_text("not staged\n")
    (told,) = await play(opened, model, calls("git_commit", message="Staged"))
    assert "a.txt" in told.result
    assert git(repository, "show", "HEAD:a.txt") == "staged\n"
    assert (repository / "a.txt").read_text() == "not staged\n"


async def test_nobody_is_guessed_as_the_author(opened, model, repository: Path, home: Path):
    (home / ".gitconfig").unlink()
    (repository / "a.txt").write_text("two\n")
    (told,) = await play(opened, model, calls("git_commit", message="Who", paths=["a.txt"]))
    assert told.kind == "no_author"
    assert "git config --global user.name" in told.result
    assert git(repository, "diff", "--cached", "--name-only") == ""


async def test_outside_a_repository_git_says_so(opened, model, root: Path):
    told = await play(opened, model, calls("git_log"), calls("git_commit", message="x"))
    assert all("not a git repository" in result.result for result in told)


async def test_a_repository_cannot_make_its_tools_run_anything(opened, model, repository: Path):
    """Every way to name a program is set; plain git runs some of them, in the same test."""
    trap = repository / "trap.sh"
    trap.write_text('#!/bin/sh\necho "$0 $*" >> "$TRAPPED"\ncat\n')
    trap.chmod(0o755)
    witness = repository / "trapped"
    program = f"env TRAPPED={witness} {trap}"
    for key in (
        "diff.external", "diff.evil.command", "diff.evil.textconv", "core.fsmonitor", "core.pager",
        "pager.log", "pager.diff", "core.editor", "filter.evil.clean", "filter.evil.smudge",
        "filter.evil.process", "credential.helper", "gpg.program", "core.sshCommand",
    ):  # fmt: skip
        git(repository, "config", key, program)
    git(repository, "config", "commit.gpgSign", "true")
    git(repository, "config", "filter.evil.required", "true")
    (repository / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    for name in (
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "post-index-change",
    ):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> {witness}\n")
        hook.chmod(0o755)
    (repository / "a.txt").write_text("two\n")
    told = await play(
        opened,
        model,
        calls("git_diff"),
        calls("git_log", patch=True),
        calls("git_commit", message="Safe", paths=["a.txt", ".gitattributes"]),
        calls("git_diff", base="HEAD~1"),
    )
    assert not witness.exists()
    assert [result.is_error for result in told] == [False] * 4
    assert "+two" in told[0].result
    os.system(f"cd {repository} && git diff >/dev/null 2>&1; git log -p >/dev/null 2>&1")
    assert witness.exists()
