"""A repository that is made in the sandbox: it works, and it brings nothing that runs."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from bridle.ports.sandbox import SandboxPolicy
from bridle.sandbox import probe
from bridle.sandbox.births import plain_config
from bridle.sandbox.kinds import make_sandbox
from bridle.sandbox.shadows import is_placeholder
from bridle.sandbox.supervisor import Supervisor
from sandbox.helpers import Shell, git

KINDS = [
    pytest.param("bubblewrap", marks=pytest.mark.bwrap),
    pytest.param(
        "landlock",
        marks=pytest.mark.skipif(not probe.landlock().available, reason="needs Landlock"),
    ),
]
COMMIT = "git -c user.name=a -c user.email=a@b commit -qm one"
pytestmark = pytest.mark.anyio


@pytest.fixture(params=KINDS)
def shell(request: pytest.FixtureRequest, policy: SandboxPolicy, supervisor: Supervisor) -> Shell:
    return Shell(supervisor, make_sandbox(request.param, policy), policy.root)


async def test_git_init_works_in_the_sandbox(shell: Shell, workspace: Path) -> None:
    done = await shell(f"set -e; git init -q -b main; echo 1 > a; git add a; {COMMIT}")
    assert (done.exit_code, done.notes) == (0, ()), done.stdout
    assert git(workspace, "log", "--format=%s") == "one\n"
    assert git(workspace, "status", "--porcelain") == ""
    assert git(workspace, "fsck", "--strict") == ""
    again = await shell(f"echo 2 > a; {COMMIT} -a; git log --oneline | wc -l; git config a.b c")
    assert again.stdout.startswith("2\n")
    assert "a.b" not in git(workspace, "config", "--list", "--local")
    assert sorted(path.name for path in workspace.iterdir()) == [".git", "a"]


HOSTILE = {
    "hooks": "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {w}\\n' > .git/hooks/post-commit; "
    "chmod +x .git/hooks/post-commit",
    "fsmonitor": "git config core.fsmonitor 'touch {w}; false'",
    "filter": "git config filter.x.clean 'touch {w}; cat'; echo '* filter=x' > .gitattributes",
    "include": "printf '[core]\\n\\tfsmonitor = touch {w}; false\\n' > more; "
    "git config include.path ../more",
    "alias": "git config alias.st '!touch {w}'",
    "worktree": "git config extensions.worktreeConfig true; "
    "git config --worktree core.fsmonitor 'touch {w}; false'",
    "written by hand": "printf '[core]\\n\\tbare = false\\n\\tfsmonitor = \"touch {w}; false\"\\n' "
    ">> .git/config",
    "one line": "printf '[core] fsmonitor = touch {w}; false\\n' >> .git/config",
    "continued": "printf '[core]\\n\\tfilemode = true\\\\\\n\\n\\tfsmonitor = touch {w}; false\\n' "
    ">> .git/config",
}


@pytest.mark.parametrize("way", HOSTILE)
async def test_a_repository_that_is_made_brings_nothing_that_runs(
    shell: Shell, workspace: Path, tmp_path: Path, way: str
) -> None:
    witness = tmp_path / "witness"
    made = f"git init -q -b main; echo 1 > a; {HOSTILE[way].format(w=witness)}; true"
    await shell(made)
    use(workspace)
    assert not witness.exists()
    control = tmp_path / "control"
    control.mkdir()
    await Shell(shell.supervisor, None, str(control))(made)
    use(control)
    assert witness.exists(), "the control: git runs it in a repository that nobody looked at"


def use(root: Path) -> None:
    """What a user does in a repository, whatever comes of it."""
    identity = "-c user.name=a -c user.email=a@b"
    os.system(
        f"cd {root} && (git status; git st; git add -A; git {identity} commit -qm x) "
        ">/dev/null 2>&1"
    )


async def test_links_and_strange_things_are_not_kept(
    shell: Shell, workspace: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("TOPSECRET")
    await shell(
        f"git init -q; ln -s {secret} .git/description2; rm .git/description; "
        f"ln -s {secret} .git/description; ln -s {tmp_path} .git/objects/link; "
        f"mkdir -p .git/objects/info; echo {tmp_path} > .git/objects/info/alternates; "
        "mkfifo .git/refs/pipe; echo x > .git/commondir"
    )
    found = {str(path.relative_to(workspace / ".git")) for path in (workspace / ".git").rglob("*")}
    assert "HEAD" in found
    assert not found & {
        "description", "description2", "objects/link", "objects/info/alternates", "refs/pipe",
        "commondir",
    }  # fmt: skip
    assert not any(path.is_symlink() for path in (workspace / ".git").rglob("*"))


async def test_what_is_no_repository_is_not_kept(shell: Shell, workspace: Path) -> None:
    done = await shell("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit")
    assert not (workspace / ".git").exists()
    assert "was not kept: it is not a repository" in " ".join(done.notes)


@pytest.mark.bwrap
async def test_nobody_sees_it_before_it_is_looked_at(
    policy: SandboxPolicy, workspace: Path, supervisor: Supervisor
) -> None:
    shell = Shell(supervisor, make_sandbox("bubblewrap", policy), policy.root)
    seen: list[list[str]] = []

    async def look() -> None:
        with anyio.fail_after(20):
            while not (workspace / "made").exists():
                await anyio.sleep(0.02)
        seen.append(os.listdir(workspace / ".git"))
        assert is_placeholder(str(workspace / ".git"))
        (workspace / "go").touch()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        await shell("git init -q; touch made; while [ ! -e go ]; do sleep 0.02; done")
    assert seen == [[]]
    assert (workspace / ".git" / "HEAD").exists()


@pytest.mark.bwrap
async def test_while_another_command_holds_the_name_it_is_not_kept(
    policy: SandboxPolicy, workspace: Path, supervisor: Supervisor
) -> None:
    """Else that command would see the real one without its protection."""
    shell = Shell(supervisor, make_sandbox("bubblewrap", policy), policy.root)

    async def hold() -> None:
        await shell("touch held; while [ ! -e go ]; do sleep 0.02; done; touch .git/x")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        with anyio.fail_after(20):
            while not (workspace / "held").exists():
                await anyio.sleep(0.02)
        done = await shell("git init -q")
        assert "another command holds the name" in " ".join(done.notes)
        (workspace / "go").touch()
    assert not (workspace / ".git").exists()
    assert (await shell("git init -q")).notes == ()
    assert (workspace / ".git" / "HEAD").exists()


@pytest.mark.skipif(not probe.landlock().available, reason="needs Landlock")
async def test_where_nothing_can_stand_in_the_whole_stays_beside_it(
    policy: SandboxPolicy, workspace: Path, supervisor: Supervisor
) -> None:
    """What was made may have been the user's, meanwhile."""
    shell = Shell(supervisor, make_sandbox("landlock", policy), policy.root)
    done = await shell("git init -q; git config remote.origin.url https://example.org/x")
    (aside,) = [path for path in workspace.iterdir() if path.name.startswith(".git.made-")]
    assert f"The whole is {aside}" in " ".join(done.notes)
    assert "example.org" in (aside / "config").read_text()
    assert "example.org" not in (workspace / ".git" / "config").read_text()


def test_only_plain_settings_are_kept() -> None:
    text, dropped = plain_config(
        "[core]\n\tbare = false\n\tsshCommand = evil\n[user]\n\tname = Ada B\n"
        '[remote "o"]\n\turl = ext::evil\n[include]\n\tpath = x\n'
    )
    assert text == "[core]\n\tbare = false\n[user]\n\tname = Ada B\n"
    assert dropped == ["core.sshcommand", 'remote "o".url', "include.path"]
