"""Hostile commands in the sandbox, with no permissions in front of it."""

import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from bridle.errors import ConfigError, ToolError
from bridle.ports.sandbox import ResourceLimits, SandboxPolicy
from bridle.sandbox import cgroups, probe
from bridle.sandbox.files import file_access
from bridle.sandbox.kinds import make_sandbox
from bridle.sandbox.policy import default_policy
from bridle.sandbox.shadows import is_placeholder
from bridle.sandbox.supervisor import Supervisor
from sandbox.helpers import Shell, git, survivors

pytestmark = pytest.mark.anyio

CORPUS = json.loads((Path(__file__).parents[1] / "data/permissions.json").read_text())
LIMITS = ResourceLimits(memory_bytes=512 << 20, pids=128, file_bytes=256 << 20)
KINDS = [pytest.param("bubblewrap", marks=pytest.mark.bwrap), "landlock"]


@pytest.fixture
def base() -> Iterator[Path]:
    """Not below /tmp, which the sandbox replaces: what is outside must be there to be refused."""
    place = Path(tempfile.mkdtemp(prefix=".bridle-test-", dir=Path.home())).resolve()
    for name in ("workspace", "home", "outside", "temp"):
        (place / name).mkdir()
    yield place
    shutil.rmtree(place)


@pytest.fixture
def workspace(base: Path) -> Path:
    return base / "workspace"


@pytest.fixture
def outside(base: Path) -> Path:
    return base / "outside"


@pytest.fixture
def policy(base: Path) -> SandboxPolicy:
    return default_policy(
        str(base / "workspace"), temp=str(base / "temp"), home=str(base / "home"), limits=LIMITS
    )


def in_kind(kind: str, policy: SandboxPolicy) -> Shell:
    if kind == "landlock" and not probe.landlock().available:
        pytest.skip(f"needs Landlock: {probe.landlock().problem}")
    return Shell(Supervisor(), make_sandbox(kind, policy), policy.root)


@pytest.fixture(params=KINDS)
def shell(request: pytest.FixtureRequest, policy: SandboxPolicy) -> Shell:
    return in_kind(request.param, policy)


async def run_corpus(shell: Shell, workspace: Path, outside: Path) -> list[str]:
    """All commands of the corpus; the ids of those that had an effect outside."""
    (workspace / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    if not (workspace / ".git").exists():
        git(workspace, "init", "-q")
        git(workspace, "add", ".")
        git(workspace, "commit", "-q", "-m", "x")
    effects = []
    for case in (*CORPUS["allow"], *CORPUS["deny"]):
        command = case["cmd"].replace("$WD", str(outside)).replace("{M}", case["marker"])
        marker = Path(case["marker"].replace("$WD", str(outside)))
        survives = case["id"].startswith("B")
        if survives:
            marker.write_text("x")
        await shell(command, timeout=20)
        if marker.exists() != survives:
            effects.append(case["id"])
        marker.unlink(missing_ok=True)
    return effects


async def test_the_corpus_has_no_effect_outside(
    shell: Shell, workspace: Path, outside: Path
) -> None:
    assert await run_corpus(shell, workspace, outside) == []


async def test_the_corpus_has_effects_without_a_sandbox(
    policy: SandboxPolicy, workspace: Path, outside: Path
) -> None:
    """What the test above is worth: nearly all of these commands work when nothing stops them."""
    bare = Shell(Supervisor(), make_sandbox("none", policy), policy.root)
    hostile = [case for case in CORPUS["allow"] + CORPUS["deny"] if case["expected"] != "allow"]
    effects = await run_corpus(bare, workspace, outside)
    assert len(effects) > 0.85 * len(hostile)


ATTEMPTS = [
    "echo x > {out}/new", "mkdir {out}/d", "ln -s /etc {out}/l", "ln {out}/kept {out}/hard",
    "mv {out}/kept {out}/moved", "rm -rf {out}", "truncate -s 0 {out}/kept",
    "cp {out}/kept kept && mv kept {out}/kept2", "dd if=/dev/zero of={out}/kept count=1",
    "mkfifo {out}/p", "tar cf {out}/t.tar .", "python3 -c 'import os; os.mknod(\"{out}/n\")'",
    "cd {out} && touch here", "ln -s {out} o && touch o/x", "touch /proc/self/root{out}/x",
    "mount --bind {out} . ; touch x", "unshare -Urm sh -c 'mount -o remount,rw / ; touch {out}/x'",
    "unshare -Urm sh -c 'umount -l {out}; touch {out}/x'", "nsenter -t 1 -m touch {out}/x",
    "chroot / touch {out}/x", "sudo -n touch {out}/x", "su -c 'touch {out}/x'",
    "touch /x_bridle /etc/x_bridle /usr/x_bridle /var/x_bridle /root/x_bridle /home/x_bridle",
    "echo x > /dev/sda; echo x > /proc/sysrq-trigger; echo x > /proc/sys/kernel/hostname",
    "mknod disk b 252 0 && head -c 16 disk > {out}/x",
]  # fmt: skip


@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_nothing_outside_changes(shell: Shell, outside: Path, attempt: str) -> None:
    (outside / "kept").write_text("kept")
    await shell(attempt.format(out=outside))
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert (outside / "kept").read_text() == "kept"
    assert (outside / "kept").stat().st_nlink == 1
    assert not list(Path("/").glob("*/x_bridle")) + list(Path("/").glob("x_bridle"))


async def test_the_workspace_and_a_private_temp_work(
    shell: Shell, workspace: Path, base: Path
) -> None:
    result = await shell(
        "set -e; echo a > f; mkdir -p d/e; mv f d/e/; ln -s d l; cat l/e/f; rm -rf d; "
        "echo t > $TMPDIR/t; cat $TMPDIR/t; echo err >&2; : > /dev/null; chmod +x .; exit 3"
    )
    assert (result.exit_code, result.stdout) == (3, "a\nt\nerr\n")
    assert (base / "temp/t").read_text() == "t\n"
    assert (await shell("cat $TMPDIR/t")).stdout == "t\n"
    files = file_access(shell.sandbox.policy)
    assert files.read("/tmp/t")[0] == b"t\n"


async def test_files_that_look_like_a_repository_run_nothing_where_nothing_confines(
    policy: SandboxPolicy, workspace: Path, outside: Path
) -> None:
    """`cd sub && git status` is decided by its words; the files of a project are not its words."""
    inner = workspace / "sub"
    inner.mkdir()
    git(inner, "init", "-q", "--bare")
    for key, value in (("bare", "false"), ("worktree", "."), ("fsmonitor", f"touch {outside}/m")):
        git(inner, f"--git-dir={inner}", "config", f"core.{key}", value)
    shell = Shell(Supervisor(), make_sandbox("none", policy), str(inner))
    assert "cannot use bare repository" in (await shell("git status")).stdout
    assert not (outside / "m").exists()
    await shell("unset GIT_CONFIG_COUNT; git status")
    assert (outside / "m").exists(), "the control: git runs it by itself"


async def test_secrets_cannot_be_read(shell: Shell, base: Path, policy: SandboxPolicy) -> None:
    home = base / "home"
    for name in (".ssh/id_rsa", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".npmrc"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("TOPSECRET")
    state = base / "state"
    state.mkdir()
    (state / "bridle.db").write_text("TOPSECRET")
    hidden = replace(policy, hidden=(*policy.hidden, f"{state}/"))
    shell = Shell(shell.supervisor, make_sandbox(shell.sandbox.kind, hidden), policy.root)
    result = await shell(
        f"grep -rs TOPSECRET {home} {state}; cat {home}/.netrc {home}/.ssh/id_rsa; "
        f"cp -r {home}/.ssh stolen; ln {home}/.netrc n; cat n stolen/*; "
        f"cat /proc/self/root{home}/.netrc; cat /etc/shadow | head -1"
    )
    assert "TOPSECRET" not in result.stdout
    assert "root:" not in result.stdout
    assert (await shell("cat stolen/* n; true")).stdout.count("TOPSECRET") == 0


PROTECTED = {
    ".git/hooks/pre-commit": "echo x > .git/hooks/pre-commit",
    ".git/config": "git config core.fsmonitor 'touch x'; echo x >> .git/config",
    ".mcp.json": "echo '{}' > .mcp.json",
    "harness.yaml": "echo 'hooks: []' > harness.yaml",
    ".bridle/config.yaml": "mkdir -p .bridle; echo x > .bridle/config.yaml",
    ".claude/settings.json": "mkdir -p .claude; echo x > .claude/settings.json",
    ".git/hooks/x": "mv .git .g; mkdir -p .git/hooks; echo x > .git/hooks/x; cp -r .g/* .git",
    ".git/hooks/y": "mv .git/hooks .git/h; mkdir .git/hooks; echo x > .git/hooks/y",
    ".git/hooks/z": "rm -rf .git/hooks; ln -s ../evil .git/hooks; mkdir evil; touch evil/z",
}


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("path", PROTECTED)
async def test_settings_stay_as_they_are(
    shell: Shell, workspace: Path, path: str, existing: bool
) -> None:
    """F06 and F08, for files that are there and files that are not."""
    git(workspace, "init", "-q")
    place = workspace / path
    if existing and not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("mine")
    elif not existing and path.startswith(".git/hooks"):
        shutil.rmtree(workspace / ".git/hooks")
    before = place.read_bytes() if place.exists() else None
    result = await shell(PROTECTED[path])
    after = place.read_bytes() if place.exists() else None
    assert after == before
    assert not os.path.islink(workspace / ".git/hooks")
    denied = ("Read-only file system", "Permission denied", "is protected", "Is a directory",
              "busy", "could not", "No such file")  # fmt: skip
    copied_back = shell.sandbox.kind == "landlock" and path == ".git/hooks/x"
    assert copied_back or any(word in result.stdout + " ".join(result.notes) for word in denied)
    assert not any(is_placeholder(str(entry)) for entry in workspace.iterdir())


@pytest.mark.bwrap
async def test_a_protected_parent_cannot_be_moved_for_a_moment(
    policy: SandboxPolicy, workspace: Path
) -> None:
    """F08: rename the parent, write, rename back."""
    git(workspace, "init", "-q")
    shell = in_kind("bubblewrap", policy)
    result = await shell("mv .git g && echo x > g/hooks/pre-commit; mv g .git")
    assert "Device or resource busy" in result.stdout
    assert not (workspace / ".git/hooks/pre-commit").exists()


@pytest.mark.bwrap
async def test_placeholders_go_when_the_last_one_leaves(
    policy: SandboxPolicy, workspace: Path
) -> None:
    shell = in_kind("bubblewrap", policy)
    results = []

    async def one(seconds: float) -> None:
        results.append(await shell(f"sleep {seconds}; echo x > .mcp.json"))

    async with anyio.create_task_group() as tasks:
        for seconds in (0, 0.3, 0.6):
            tasks.start_soon(one, seconds)
    assert all("Is a directory" in result.stdout for result in results)
    assert list(workspace.iterdir()) == []


async def test_git_works(shell: Shell, workspace: Path) -> None:
    git(workspace, "init", "-q")
    result = await shell(
        "set -e; echo 1 > a; git add -A; git -c user.name=a -c user.email=a@b commit -qm one; "
        "git checkout -qb other; git status --porcelain; git log --oneline | wc -l; "
        "git stash -q 2>/dev/null || true; git gc -q"
    )
    assert (result.exit_code, result.stdout.strip()) == (0, "1")


async def test_git_works_in_a_linked_worktree(base: Path, policy: SandboxPolicy) -> None:
    main = base / "main"
    main.mkdir()
    git(main, "init", "-q")
    (main / "a").write_text("1")
    git(main, "add", ".")
    git(main, "commit", "-q", "-m", "x")
    shutil.rmtree(base / "workspace")
    git(main, "worktree", "add", "-q", str(base / "workspace"))
    policy = default_policy(
        str(base / "workspace"), temp=str(base / "temp"), home=str(base / "home"), limits=LIMITS
    )
    shell = Shell(Supervisor(), make_sandbox("auto", policy), policy.root)
    commit = "git -c user.name=a -c user.email=a@b commit -qam two"
    result = await shell(f"echo 2 > a && {commit}; echo evil >> {main}/.git/config; touch {main}/x")
    assert git(main, "log", "--oneline", "--all").count("\n") == 2
    assert "evil" not in (main / ".git/config").read_text()
    assert not (main / "x").exists()
    assert result.stdout.count("\n") >= 2


def test_a_git_file_that_points_elsewhere_opens_nothing(base: Path) -> None:
    git(base / "outside", "init", "-q")
    (base / "workspace/.git").write_text(f"gitdir: {base}/outside/.git\n")
    policy = default_policy(str(base / "workspace"), temp=str(base / "temp"))
    assert policy.writable == ()


@pytest.fixture
def listener(outside: Path) -> Iterator[dict[str, object]]:
    """Things on this machine that a command could talk to."""
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.setblocking(False)
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(str(outside / "s"))
    unix.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0bridle-{os.getpid()}")
    abstract.listen()
    for server in (tcp, unix, abstract):
        server.setblocking(False)
    found: dict[str, object] = {"tcp": tcp, "udp": udp, "unix": unix, "abstract": abstract}
    yield found
    for server in (tcp, udp, unix, abstract):
        server.close()


async def test_no_way_to_the_network(
    shell: Shell, outside: Path, listener: dict[str, socket.socket]
) -> None:
    """N06; also by UDP, by a socket file and by an abstract socket."""
    tcp, udp = listener["tcp"].getsockname()[1], listener["udp"].getsockname()[1]
    script = f"""
import socket
for family, address in ((socket.AF_UNIX, "{outside}/s"), (socket.AF_INET, ("127.0.0.1", {tcp})),
                        (socket.AF_UNIX, "\\0bridle-{os.getpid()}")):
    try:
        socket.socket(family).connect(address); print("CONNECTED", address)
    except OSError as error: print(error)
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {udp}))
except OSError as error: print(error)
"""
    result = await shell(
        f"exec 3<>/dev/tcp/127.0.0.1/{tcp} && echo CONNECTED; echo x > /dev/udp/127.0.0.1/{udp}; "
        f"getent hosts example.com && echo CONNECTED; curl -sm 3 http://127.0.0.1:{tcp} && echo "
        f"CONNECTED; python3 -c '{script}'; echo end"
    )
    assert "CONNECTED" not in result.stdout
    assert result.stdout.endswith("end\n")
    for name in ("tcp", "unix", "abstract"):
        with pytest.raises(BlockingIOError):
            listener[name].accept()
    with pytest.raises(BlockingIOError):
        listener["udp"].recv(10)


async def test_the_network_can_be_allowed(
    policy: SandboxPolicy, listener: dict[str, socket.socket]
) -> None:
    port = listener["tcp"].getsockname()[1]
    for kind in ("auto", "landlock"):
        shell = in_kind(kind, replace(policy, network="on"))
        result = await shell(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo CONNECTED")
        assert result.stdout == "CONNECTED\n"


async def test_the_environment_is_clean(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, policy: SandboxPolicy
) -> None:
    """T12"""
    for name in ("LD_PRELOAD", "GIT_DIR", "GIT_SSH_COMMAND", "BASH_ENV", "PYTHONSTARTUP", "ENV",
                 "NODE_OPTIONS", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK",
                 "PROMPT_COMMAND", "BASH_FUNC_ls%%", "PERL5OPT"):  # fmt: skip
        monkeypatch.setenv(name, "/tmp/evil-marker")
    monkeypatch.setenv("PAGER", "touch evil-marker")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("MINE", "kept")
    named = replace(policy, env=("MINE", "LD_PRELOAD"))
    shell = Shell(shell.supervisor, make_sandbox(shell.sandbox.kind, named), policy.root)
    result = await shell("env", env={"EXTRA": "1", "LD_LIBRARY_PATH": "/tmp/evil-marker"})
    assert "evil-marker" not in result.stdout
    lines = result.stdout.split("\n")
    assert {"MINE=kept", "EXTRA=1", "LC_ALL=C.UTF-8", "PAGER=cat"} <= set(lines)
    await shell("export LD_PRELOAD=/x BASH_ENV=/y")
    assert "LD_PRELOAD" not in (await shell("env")).stdout


async def test_other_processes_are_out_of_reach(shell: Shell) -> None:
    result = await shell(
        f"kill -9 {os.getpid()}; kill -9 -1; cat /proc/{os.getpid()}/environ; "
        f"echo > /proc/{os.getpid()}/mem; ls /proc/{os.getpid()}/fd; echo alive"
    )
    if shell.sandbox.kind == "bubblewrap":
        assert "No such process" in result.stdout
    assert "PATH=" not in result.stdout


async def test_read_only_writes_nowhere_but_temp(policy: SandboxPolicy, workspace: Path) -> None:
    (workspace / "f").write_text("1")
    shell = Shell(Supervisor(), make_sandbox("read-only", policy), policy.root)
    result = await shell("echo 2 > f; touch new; cat f; echo t > $TMPDIR/t && cat $TMPDIR/t")
    assert result.stdout.endswith("1t\n")
    assert [path.name for path in workspace.iterdir()] == ["f"]
    with pytest.raises(ToolError, match="read-only"):
        file_access(shell.sandbox.policy).write("f", b"")


async def test_more_places_can_be_opened(policy: SandboxPolicy, outside: Path, base: Path) -> None:
    (base / "home/.aws").mkdir()
    (base / "home/.aws/config").write_text("region")
    policy = replace(policy, writable=(str(outside),), readable=(str(base / "home/.aws/config"),))
    shell = Shell(Supervisor(), make_sandbox("auto", policy), policy.root)
    result = await shell(f"touch {outside}/x; cat {base}/home/.aws/config")
    assert result.stdout == "region"
    assert (outside / "x").exists()


needs_groups = pytest.mark.skipif(
    not (cgroups.controllers().pids and cgroups.controllers().memory) and os.geteuid() == 0,
    reason="needs writable control groups for pids and memory when run as root",
)


@needs_groups
async def test_a_fork_bomb_is_contained(policy: SandboxPolicy, mark: str) -> None:
    policy = replace(policy, limits=ResourceLimits(pids=48, memory_bytes=256 << 20))
    for kind in ("auto", "none", "landlock"):
        shell = Shell(Supervisor(), make_sandbox(kind, policy), policy.root)
        result = await shell(
            f"# {mark}\nbomb() {{ bomb | bomb & }}; bomb; sleep 20", timeout=1.5,
            env={"BRIDLE_MARK": mark},
        )  # fmt: skip
        assert result.killed == "timeout"
        if cgroups.controllers().pids:
            assert any("limit of processes" in note for note in result.notes), result
        else:
            assert "Resource temporarily unavailable" in result.stdout
        assert survivors(mark) == []
        assert (await shell("echo fine")).stdout == "fine\n"


@needs_groups
async def test_a_memory_bomb_is_contained(policy: SandboxPolicy, mark: str) -> None:
    policy = replace(policy, limits=ResourceLimits(pids=48, memory_bytes=96 << 20))
    shell = Shell(Supervisor(), make_sandbox("auto", policy), policy.root)
    result = await shell(
        f"exec -a {mark} python3 -c 'x = []\nwhile True: x.append(bytearray(1 << 20))'"
    )
    assert result.exit_code != 0
    if cgroups.controllers().memory:
        assert result.killed == "memory"
        assert any("memory limit" in note for note in result.notes)
    else:
        assert "MemoryError" in result.stdout


async def test_files_and_processor_time_are_limited(policy: SandboxPolicy, workspace: Path) -> None:
    limits = ResourceLimits(file_bytes=1 << 20, cpu_seconds=1, pids=48)
    shell = Shell(Supervisor(), make_sandbox("auto", replace(policy, limits=limits)), policy.root)
    result = await shell("exec head -c 5000000 /dev/zero > big")
    assert (workspace / "big").stat().st_size == 1 << 20
    assert any("size of a file" in note for note in result.notes), result
    result = await shell("while :; do :; done", timeout=30)
    assert any("processor time" in note for note in result.notes), result


async def test_a_flood_is_bounded(shell: Shell, mark: str) -> None:
    from bridle.ports.processes import OutputLimits

    result = await shell(f"exec -a {mark} yes", output=OutputLimits(keep=1000, total=3_000_000))
    assert result.killed == "output"
    assert len(result.stdout) < 1200


async def test_sleepers_end_with_the_command(shell: Shell, mark: str) -> None:
    command = f"(setsid bash -c 'exec -a {mark} sleep 60' &) ; nohup sleep 60 & disown; "
    await shell(command + "echo done")
    assert survivors(mark) == []
    result = await shell(command + "sleep 60", timeout=0.5)
    assert result.timed_out
    assert survivors(mark) == []


async def test_no_shell_runs_nothing(policy: SandboxPolicy) -> None:
    shell = Shell(Supervisor(), make_sandbox("no-shell", policy), policy.root)
    with pytest.raises(ToolError, match="runs no commands"):
        await shell("true")


def test_names(policy: SandboxPolicy) -> None:
    with pytest.raises(ConfigError, match=r"Unknown sandbox .*Did you mean 'bubblewrap'"):
        make_sandbox("bubblewarp", policy)
    assert make_sandbox("local", policy).kind == make_sandbox("auto", policy).kind
    assert make_sandbox("none", policy).kind == "none"


def test_what_is_missing_is_told(policy: SandboxPolicy) -> None:
    if probe.seatbelt().available:
        with pytest.raises(ConfigError, match="exists on Linux only"):
            make_sandbox("bubblewrap", policy)
    else:
        with pytest.raises(ConfigError, match=r"'seatbelt' does not work here: .* macOS only"):
            make_sandbox("seatbelt", policy)
    assert "apt install bubblewrap" in probe.INSTALL_BUBBLEWRAP


def test_landlock_refuses_what_it_cannot_hide(base: Path) -> None:
    if not probe.landlock().available:
        pytest.skip("needs Landlock")
    (base / "home/.ssh").mkdir()
    policy = default_policy(str(base / "home"), home=str(base / "home"), temp=str(base / "temp"))
    with pytest.raises(ConfigError, match=r"cannot hide .*\.ssh inside the workspace"):
        make_sandbox("landlock", policy)


@pytest.mark.bwrap
async def test_a_home_as_workspace_keeps_its_secrets(base: Path) -> None:
    home = base / "home"
    (home / ".ssh").mkdir()
    (home / ".ssh/id").write_text("TOPSECRET")
    (home / ".bashrc").write_text("mine")
    policy = default_policy(str(home), home=str(home), temp=str(base / "temp"), limits=LIMITS)
    shell = Shell(Supervisor(), make_sandbox("bubblewrap", policy), str(home))
    result = await shell(
        "cat .ssh/id; echo evil >> .bashrc; echo evil > .zshrc; echo k > .ssh/authorized_keys; "
        "mv .ssh s; touch ok"
    )
    assert "TOPSECRET" not in result.stdout
    assert (home / ".bashrc").read_text() == "mine"
    assert not (home / ".zshrc").exists()
    assert sorted(p.name for p in (home / ".ssh").iterdir()) == ["id"]
    assert (home / "ok").exists()


@pytest.mark.parametrize("kind", ["auto", "landlock", "none", "no-shell", "read-only"])
def test_every_kind_describes_itself(kind: str, policy: SandboxPolicy) -> None:
    if kind == "landlock" and not probe.landlock().available:
        pytest.skip("needs Landlock")
    assert make_sandbox(kind, policy).describe()
