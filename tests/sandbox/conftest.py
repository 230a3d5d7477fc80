"""Real processes, real bubblewrap, a workspace of their own."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridle.ports.sandbox import ResourceLimits, SandboxPolicy
from bridle.sandbox import probe
from bridle.sandbox.kinds import make_sandbox
from bridle.sandbox.policy import default_policy
from bridle.sandbox.supervisor import Supervisor
from sandbox.helpers import Shell, git, survivors

LIMITS = ResourceLimits(memory_bytes=512 << 20, pids=128, file_bytes=256 << 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found = probe.bubblewrap()
    if not found.available:
        skip = pytest.mark.skip(reason=f"needs bubblewrap: {found.problem}; {found.remedy}")
        for item in items:
            if item.get_closest_marker("bwrap"):
                item.add_marker(skip)


@pytest.fixture
def supervisor() -> Supervisor:
    return Supervisor()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    return root


@pytest.fixture
def policy(workspace: Path, tmp_path: Path) -> SandboxPolicy:
    home = tmp_path / "home"
    home.mkdir()
    temp = tmp_path / "temp"
    temp.mkdir(mode=0o700)
    return default_policy(str(workspace), temp=str(temp), home=str(home), limits=LIMITS)


@pytest.fixture
def shell(supervisor: Supervisor, policy: SandboxPolicy) -> Shell:
    return Shell(supervisor, make_sandbox("bubblewrap", policy), policy.root)


@pytest.fixture
def bare(supervisor: Supervisor, workspace: Path) -> Shell:
    return Shell(supervisor, None, str(workspace))


@pytest.fixture
def mark() -> Iterator[str]:
    """A word that only this test's processes carry; none of them may be left."""
    word = f"bridle-test-{uuid.uuid4().hex[:12]}"
    yield word
    assert survivors(word) == []


@pytest.fixture
def repository(workspace: Path) -> Path:
    git(workspace, "init", "-q")
    (workspace / "tracked.txt").write_text("one\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "-q", "-m", "first")
    return workspace
