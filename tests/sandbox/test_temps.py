"""Private temporary directories: whose they are, and that none outlives its process for long."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bridle.app.workspace import Workspace
from bridle.errors import ConfigError
from bridle.sandbox import probe, temps
from bridle.sandbox.emptying import Budget, empty
from support.cli import Bridle

HOLDER = """
import sys
from bridle.sandbox import temps
path = temps.make()
open(path + "/left", "w").write("x" * 1000)
for number in range(int(sys.argv[1])):
    open(f"{path}/{number}", "w").close()
print(path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary directory that no other process uses."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


@pytest.fixture
def base(place: Path) -> Path:
    return place / f"bridle-{os.geteuid()}"


Holder = tuple[subprocess.Popen[str], Path]


@pytest.fixture
def holder(place: Path) -> Iterator[Callable[..., Holder]]:
    """Starts a process that makes a directory and waits."""
    started: list[subprocess.Popen[str]] = []

    def start(files: int = 0) -> Holder:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(files)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    yield start
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_they_are_private(holder: Callable[..., Holder], base: Path) -> None:
    """F09"""
    _process, path = holder()
    for directory in (base, path.parent, path):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert path.parent.parent == base


def test_a_process_that_ends_leaves_nothing(holder: Callable[..., Holder], base: Path) -> None:
    process, path = holder()
    (path / "left").unlink()
    path.rmdir()
    process.communicate()
    assert os.listdir(base) == []


def test_what_a_killed_process_left_goes_with_the_next_start(
    holder: Callable[..., Holder],
) -> None:
    killed, stale = holder()
    _living, kept = holder()
    kill(killed)
    assert stale.is_dir(), "the control: nobody but the next process clears it away"
    _next, fresh = holder()
    assert not stale.parent.exists()
    assert (kept / "left").is_file()
    assert (fresh / "left").is_file()


def test_a_start_clears_away_no_more_than_its_share(
    holder: Callable[..., Holder], base: Path
) -> None:
    killed, stale = holder(3 * temps.REMOVED)
    kill(killed)
    before = len(os.listdir(stale))
    _next, _path = holder()
    left = len(os.listdir(stale))
    assert before - temps.REMOVED <= left < before
    swept = temps.sweep(str(base), dry_run=True)
    assert (swept.items, swept.bytes <= 1000) == (1, True)
    temps.sweep(str(base))
    assert not stale.parent.exists()


def test_many_living_ones_do_not_hide_a_stale_one(holder: Callable[..., Holder]) -> None:
    living = [holder() for _ in range(temps.LOOKED_AT + 2)]
    killed, stale = holder()
    kill(killed)
    for _ in range(100):
        next_one, _path = holder()
        kill(next_one)
        if not stale.parent.exists():
            break
    assert not stale.parent.exists()
    assert all((path / "left").is_file() for _process, path in living)


@pytest.mark.parametrize("made", ["link", "open", "file"])
def test_a_name_that_somebody_else_holds_is_not_used(
    made: str, holder: Callable[..., Holder], base: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    (victim / "dir").mkdir(parents=True)
    (victim / "dir/file").write_text("mine")
    if made == "link":
        base.symlink_to(victim)
    elif made == "open":
        base.mkdir()
        base.chmod(0o777)
        (base / "entry").symlink_to(victim / "dir")
    else:
        base.write_text("")
    _process, path = holder()
    assert path.parent.parent != base
    assert path.parent.parent.name.startswith(base.name)
    assert (victim / "dir/file").read_text() == "mine"


def test_entries_that_are_links_are_not_followed(
    holder: Callable[..., Holder], base: Path, tmp_path: Path
) -> None:
    _process, _path = holder()
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    (base / "aaaa").symlink_to(victim)
    temps.sweep(str(base))
    assert (victim / "file").read_text() == "mine"


HOSTILE = """
import os
os.symlink("/etc", "etc"); os.symlink(os.environ["VICTIM"], "victim"); os.mkfifo("pipe")
os.makedirs("shut/inner"); open("shut/inner/file", "w").close()
os.chmod("shut/inner", 0); os.chmod("shut", 0)
os.link(os.environ["VICTIM"] + "/file", "hard")
for _ in range(3000):
    os.mkdir("d" * 20); open("f", "w").close(); os.chdir("d" * 20)
"""


def test_whatever_a_command_made_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    victim, full = tmp_path / "victim", tmp_path / "full"
    victim.mkdir()
    (victim / "file").write_text("mine")
    full.mkdir()
    env = {**os.environ, "VICTIM": str(victim)}
    subprocess.run([sys.executable, "-c", HOSTILE], cwd=full, env=env, check=True)
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        empty(directory, "full", Budget())
    finally:
        os.close(directory)
    assert not full.exists()
    assert (victim / "file").read_text() == "mine"


def test_a_fork_that_ends_leaves_its_parents_directory(place: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys, weakref\n"
        "from bridle.sandbox import temps\n"
        "class Owner: pass\n"
        "owner = Owner(); path = temps.make(); weakref.finalize(owner, temps.remove, path)\n"
        "pid = os.fork()\n"
        "if not pid:\n    temps.make(); sys.exit(0)\n"
        "os.waitpid(pid, 0); print(os.path.isdir(path)); print(path)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    there, path = done.stdout.split()
    assert there == "True"
    assert not Path(path).exists()


def test_a_sandbox_that_is_refused_leaves_nothing(place: Path, tmp_path: Path) -> None:
    parent = Path(temps.make()).parent
    before = len(os.listdir(parent))
    kind = "landlock" if sys.platform == "darwin" else "seatbelt"
    with pytest.raises(ConfigError):
        Workspace(tmp_path, sandbox=kind).place()
    assert len(os.listdir(parent)) == before


@pytest.mark.bwrap
@pytest.mark.skipif(not probe.bubblewrap().available, reason="needs bubblewrap")
def test_a_machine_without_a_temporary_directory_is_told_what_to_set() -> None:
    code = "from bridle.sandbox import temps; temps.make()"
    found = probe.bubblewrap()
    argv = [found.program, "--unshare-user", "--ro-bind", "/", "/", "--dev", "/dev"]
    env = {**os.environ, "TMPDIR": "/proc/none"}
    done = subprocess.run(
        [*argv, sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
    )
    assert "No temporary directory can be written, of /proc/none, /tmp, /var/tmp" in done.stderr
    assert "set TMPDIR" in done.stderr


@pytest.mark.bwrap
@pytest.mark.skipif(not probe.bubblewrap().available, reason="needs bubblewrap")
def test_bridle_killed_in_a_command_is_cleared_away_by_gc(
    place: Path, base: Path, workspace: Path, tmp_path: Path
) -> None:
    bridle = Bridle(cwd=workspace, home=tmp_path / "home")
    bridle.home.mkdir()
    script = tmp_path / "calls.yaml"
    script.write_text("- calls: [{tool: bash, args: {command: 'echo a > /tmp/a; sleep 60'}}]\n")
    process = bridle.start("run", "x", "--model", f"scripted/{script}", "--yolo")
    for _ in range(1200):
        if list(base.glob("*/*/a")) or process.poll() is not None:
            break
        signal.sigtimedwait([], 0.05)
    assert list(base.glob("*/*/a"))
    process.kill()
    process.communicate()
    told = [
        entry for entry in bridle("gc", "--dry-run", "--json").json if entry["kind"] == "temporary"
    ]
    assert [entry["items"] for entry in told] == [1]
    assert list(base.glob("*/*/a")), "only told"
    assert "temporary" in bridle("gc").out
    assert os.listdir(base) == []
