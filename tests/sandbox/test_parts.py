"""The pure parts: policies, profiles, output, limits, the environment, the seccomp filter."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bridle.errors import ConfigError
from bridle.ports.processes import OutputLimits
from bridle.ports.sandbox import ResourceLimits, SandboxPolicy
from bridle.sandbox import cgroups, mounts, seccomp
from bridle.sandbox.environment import clean
from bridle.sandbox.kinds import parse, read_only
from bridle.sandbox.output import Capture
from bridle.sandbox.seatbelt import Seatbelt, profile
from sandbox.helpers import git


@given(st.lists(st.binary(max_size=40), max_size=40), st.integers(min_value=2, max_value=60))
def test_output_is_kept_whole_or_by_its_ends(chunks: list[bytes], keep: int) -> None:
    capture = Capture(OutputLimits(keep=keep))
    for chunk in chunks:
        capture.add(chunk)
    whole = b"".join(chunks)
    half = keep // 2
    assert capture.total == len(whole)
    assert capture.truncated == (len(whole) > 2 * half)
    if not capture.truncated:
        assert capture.text() == whole.decode("utf-8", "replace")
        return
    head, _, rest = capture.text().partition("\n[… ")
    tail = rest.partition(" …]\n")[2]
    assert whole[:half].decode("utf-8", "replace").startswith(head.rstrip("�"))
    assert whole[-half:].decode("utf-8", "replace").endswith(tail.lstrip("�"))


@given(st.text(max_size=300), st.integers(min_value=8, max_value=64))
def test_a_cut_never_breaks_a_character(text: str, keep: int) -> None:
    capture = Capture(OutputLimits(keep=keep))
    capture.add(text.encode())
    assert "�" not in capture.text().replace("�", "") or "�" in text
    if "�" not in text:
        assert "�" not in capture.text()


def test_memory_stays_bounded() -> None:
    capture = Capture(OutputLimits(keep=1000))
    for _ in range(10_000):
        capture.add(b"x" * 100)
    assert sum(map(len, capture._tail)) <= 600


def test_variables_that_run_something_never_pass() -> None:
    source = {"PATH": "/bin", "LD_PRELOAD": "x", "GIT_DIR": "x", "API_KEY": "x", "LC_TIME": "C"}
    found = clean(source, allow=("*",), extra={"NODE_OPTIONS": "x", "MINE": "1"})
    assert found.keys() == {
        "PATH", "API_KEY", "LC_TIME", "MINE", "LANG", "TERM", "PAGER", "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
    }  # fmt: skip
    assert "API_KEY" not in clean(source)
    assert clean({})["PATH"]


def test_the_most_specific_path_decides(tmp_path: Path) -> None:
    for name in ("root/secret/open", "root/kept", "out"):
        (tmp_path / name).mkdir(parents=True)
    policy = SandboxPolicy(
        root=f"{tmp_path}/root",
        hidden=(f"{tmp_path}/root/secret/", f"{tmp_path}/nowhere"),
        read_only=(f"{tmp_path}/root/kept", f"{tmp_path}/root/absent", f"{tmp_path}/out/absent"),
        readable=(f"{tmp_path}/root/secret/open", f"{tmp_path}/root/kept"),
    )
    found = {
        mount.path.removeprefix(f"{tmp_path}/"): (mount.view, mount.exists)
        for mount in mounts.plan(policy)
    }
    assert found == {
        "root": ("writable", True),
        "root/absent": ("read_only", False),
        "root/kept": ("read_only", True),
        "root/secret": ("hidden", True),
        "root/secret/open": ("readable", True),
    }


def test_parents_of_what_is_protected_are_mounts(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    policy = SandboxPolicy(root=str(tmp_path), read_only=(f"{tmp_path}/a/b/c/f",))
    paths = [mount.path.removeprefix(str(tmp_path)) for mount in mounts.plan(policy)]
    assert paths == ["", "/a", "/a/b", "/a/b/c", "/a/b/c/f"]


def test_read_only_takes_every_writable_place(policy: SandboxPolicy) -> None:
    narrowed = read_only(replace(policy, writable=("/opt",)))
    assert mounts.writable_roots(narrowed) == (policy.temp,)


def test_submodules_are_protected(workspace: Path, policy: SandboxPolicy) -> None:
    git(workspace, "init", "-q")
    module = workspace / ".git/modules/sub"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    found = mounts.read_only(policy)
    assert f"{module}/hooks/" in found
    assert f"{module}/config" in found


def test_file_tools_can_ask_what_is_protected(workspace: Path, policy: SandboxPolicy) -> None:
    git(workspace, "init", "-q")
    for path in (".git/config", ".git/hooks/x", ".mcp.json", "harness.yaml", ".bridle/local/x"):
        assert mounts.is_protected(policy, f"{workspace}/{path}")
    for path in (".git/index", "harness.yaml2", "src/.mcp.json", ".bridlex"):
        assert not mounts.is_protected(policy, f"{workspace}/{path}")


def test_kinds_have_aliases_and_no_others() -> None:
    assert parse("local") == "auto"
    assert parse("read-only") == "read-only"
    with pytest.raises(ConfigError, match="Did you mean 'landlock'"):
        parse("landlok")


def test_the_seatbelt_profile(policy: SandboxPolicy, workspace: Path) -> None:
    text = profile(replace(policy, readable=('/odd"name\\',)))
    lines = text.split("\n")
    assert lines[:2] == ["(version 1)", "(deny default)"]
    grant = f'(allow file-write* (subpath "{workspace}"))'
    deny = f'(deny file-write* (subpath "{workspace}/.mcp.json"))'
    secret = f'(deny file-read* file-write* (subpath "{policy.hidden[0].rstrip("/")}"))'
    assert lines.index(grant) < lines.index(deny) < lines.index(secret)
    assert '(allow file-read* (subpath "/odd\\"name\\\\"))' in lines
    assert "network" not in text
    assert "(allow network*)" in profile(replace(policy, network="on"))
    assert grant not in profile(read_only(policy))
    assert text.count("(") == text.count(")")


@pytest.mark.anyio
async def test_seatbelt_wraps(policy: SandboxPolicy) -> None:
    sandbox = Seatbelt(policy=policy)
    async with sandbox.enter(["ls", "-l"], cwd="/") as launch:
        assert launch.argv[:2] == ("/usr/bin/sandbox-exec", "-p")
        assert launch.argv[3:] == ("--", "ls", "-l")
        assert launch.env["TMPDIR"] == policy.temp
    assert any("network: off" in line for line in sandbox.describe())


def test_limits_are_planned_or_told() -> None:
    bounds = cgroups.plan(ResourceLimits(pids=10, memory_bytes=1 << 20, cpu_seconds=1))
    here = cgroups.controllers()
    assert len(bounds.groups) == len({here.pids, here.memory} - {None})
    if here.memory is None:
        assert any("memory is limited per process" in note for note in bounds.notes)
    if here.pids is None and os.geteuid() == 0:
        assert any("no limit of processes" in note for note in bounds.notes)
    assert cgroups.plan(ResourceLimits()).groups == ()


def test_the_filter_is_well_formed() -> None:
    if not seccomp.supported():
        pytest.skip("no filter for this processor")
    for network in (True, False):
        code = seccomp.compile_filter(network=network)
        steps = list(struct.iter_unpack("=HBBI", code))
        assert steps[-1] == (0x06, 0, 0, 0x7FFF0000)
        for at, (operation, yes, no, _value) in enumerate(steps):
            if operation in (0x15, 0x35):
                assert at + 1 + max(yes, no) < len(steps)
    assert len(seccomp.compile_filter(network=False)) > len(seccomp.compile_filter(network=True))


def test_the_keeper_starts_with_little() -> None:
    """Everything that it imports is paid for with the first command."""
    source = str(Path(mounts.__file__).parents[2])
    program = (
        f"import sys; sys.path.append({source!r}); import bridle.sandbox.keeper; "
        "print(*sorted(name for name in sys.modules if '.' not in name))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {"asyncio", "anyio", "msgspec", "socket", "signal", "enum", "re", "typing_extensions"}
    assert not heavy & set(done.stdout.split())
