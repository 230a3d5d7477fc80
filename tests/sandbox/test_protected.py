"""What runs later without being asked is the same for the rules and for the sandbox, one by one."""

import os
from pathlib import Path

import pytest

from bridle.permissions.calls import facts_of
from bridle.permissions.evaluate import evaluate
from bridle.ports.sandbox import SandboxPolicy
from bridle.sandbox import probe
from bridle.sandbox.kinds import make_sandbox
from bridle.sandbox.supervisor import Supervisor
from bridle.types.permissions import Policy
from bridle.types.places import OF_PROJECT, OF_SHELLS, OF_USER, SECRETS
from sandbox.helpers import Shell, git

pytestmark = pytest.mark.anyio

GIT = (".git/hooks/", ".git/config")
IN_PROJECT = (*OF_PROJECT, *OF_SHELLS, *GIT)
KINDS = [pytest.param("bubblewrap", marks=pytest.mark.bwrap), "landlock"]


@pytest.fixture(params=KINDS)
def shell(request: pytest.FixtureRequest, policy: SandboxPolicy) -> Shell:
    if request.param == "landlock" and not probe.landlock().available:
        pytest.skip(f"needs Landlock: {probe.landlock().problem}")
    return Shell(Supervisor(), make_sandbox(request.param, policy), policy.root)


def file_of(name: str) -> str:
    return f"{name}run" if name.endswith("/") else name


def attack(names: tuple[str, ...]) -> str:
    """Make, overwrite, remove and replace each of them, with no permissions in front."""
    lines = []
    for name in map(file_of, names):
        lines += [
            f"mkdir -p ./{os.path.dirname(name)}", f"echo evil > {name}", f"echo evil >> {name}",
            f"rm -f {name}", f"echo evil > t && mv -f t {name}",
            f"mv {os.path.dirname(name) or name} moved && echo evil > {name}",
        ]  # fmt: skip
    return "\n".join(lines)


async def test_none_of_them_can_be_made_by_a_command(shell: Shell, workspace: Path) -> None:
    await shell(attack(OF_PROJECT + OF_SHELLS))
    left = [name for name in OF_PROJECT + OF_SHELLS if (workspace / file_of(name)).is_file()]
    assert left == []


async def test_none_of_them_can_be_changed_by_a_command(shell: Shell, workspace: Path) -> None:
    git(workspace, "init", "-q")
    for name in map(file_of, IN_PROJECT):
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name != ".git/config":
            path.write_text("mine\n")
    before = {name: (workspace / file_of(name)).read_text() for name in IN_PROJECT}
    await shell(attack(IN_PROJECT))
    after = {name: (workspace / file_of(name)).read_text() for name in IN_PROJECT}
    assert after == before


async def test_the_attack_works_where_nothing_confines(
    policy: SandboxPolicy, workspace: Path
) -> None:
    """The control."""
    bare = Shell(Supervisor(), make_sandbox("none", policy), policy.root)
    await bare(attack(OF_PROJECT + OF_SHELLS))
    made = [name for name in OF_PROJECT + OF_SHELLS if (workspace / file_of(name)).is_file()]
    assert len(made) == len(OF_PROJECT + OF_SHELLS)


@pytest.mark.parametrize("name", [*IN_PROJECT, *OF_USER])
def test_the_rules_ask_for_the_same_names(name: str) -> None:
    policy = Policy(root="/work/app", home="/home/dev", yolo=True)
    path = file_of(name)
    written = evaluate("write_file", facts_of("write_file", {"path": path, "content": ""}), policy)
    command = {"command": f"echo evil > {path}"}
    redirected = evaluate("bash", facts_of("bash", command), policy)
    expected = "deny" if name == ".ssh/" else "ask"  # a secret wherever it is
    assert (written.effect, redirected.effect) == (expected, expected)
    other = evaluate("write_file", facts_of("write_file", {"path": "a.py", "content": ""}), policy)
    assert other.effect == "allow"


@pytest.mark.parametrize("name", SECRETS)
def test_the_rules_deny_the_same_secrets(name: str) -> None:
    policy = Policy(root="/work/app", home="/home/dev", yolo=True)
    facts = facts_of("bash", {"command": f"cat ~/'{file_of(name)}'"})
    assert evaluate("bash", facts, policy).effect == "deny"
    facts = facts_of("bash", {"command": "cat ~/notes"})
    assert evaluate("bash", facts, policy).effect == "allow"
