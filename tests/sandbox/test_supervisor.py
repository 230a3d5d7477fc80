"""Processes: output, limits, and trees that end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from bridle.errors import RunError, ToolError
from bridle.ports.processes import OutputLimits
from bridle.ports.sandbox import Launch
from bridle.sandbox.running import Running
from bridle.sandbox.spawn import KEEPER
from bridle.sandbox.supervisor import Supervisor
from sandbox.helpers import Shell, survivors

pytestmark = pytest.mark.anyio


async def test_output_keeps_its_order_and_the_exit_code(bare: Shell) -> None:
    result = await bare("echo one; echo two >&2; cat; exit 7", stdin=b"three\n")
    assert (result.exit_code, result.stdout, result.stderr) == (7, "one\ntwo\nthree\n", "")
    assert result.killed is None
    assert not result.truncated


async def test_streams_can_be_kept_apart(bare: Shell) -> None:
    result = await bare("echo out; echo err >&2", stderr="separate")
    assert (result.stdout, result.stderr) == ("out\n", "err\n")


async def test_live_output_arrives_while_the_command_runs(bare: Shell) -> None:
    heard: list[tuple[str, float]] = []

    async def hear(stream: str, text: str) -> None:
        heard.append((stream + ":" + text, time.monotonic()))

    started = time.monotonic()
    await bare("echo early; sleep 0.5", on_output=hear)
    assert [text for text, _ in heard] == ["stdout:early\n"]
    assert time.monotonic() - heard[0][1] >= 0.4
    assert heard[0][1] - started < time.monotonic() - heard[0][1] + 0.5


async def test_live_text_is_never_cut_within_a_character(bare: Shell) -> None:
    heard: list[str] = []

    async def hear(stream: str, text: str) -> None:
        heard.append(text)

    await bare(r"printf '\xc3'; sleep 0.1; printf '\xa4'", on_output=hear)
    assert heard == ["ä"]


async def test_an_error_of_the_listener_ends_the_command(bare: Shell, mark: str) -> None:
    async def hear(stream: str, text: str) -> None:
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        await bare(f"echo x; exec -a {mark} sleep 60", on_output=hear)


async def test_a_program_that_does_not_exist_is_told(supervisor: Supervisor) -> None:
    with pytest.raises(ToolError, match="cannot run 'no-such-program': No such file"):
        await supervisor.run(["no-such-program"], sandbox=None, cwd="/")


async def test_a_directory_that_does_not_exist_is_told(supervisor: Supervisor) -> None:
    with pytest.raises(ToolError, match="No such file or directory"):
        await supervisor.run(["true"], sandbox=None, cwd="/no/such/place")


async def test_a_big_environment_and_argument_arrive(bare: Shell) -> None:
    result = await bare("echo ${#BIG} ${#0}", env={"BIG": "x" * 120_000})
    assert result.stdout.split()[0] == "120000"
    long = "y" * 120_000
    result = await bare.supervisor.run(
        ["sh", "-c", "echo $#", "sh", *[long] * 8], sandbox=None, cwd="/"
    )
    assert result.stdout == "8\n"


@pytest.mark.parametrize(
    "command",
    [
        "exec -a {m} sleep 60",
        "(exec -a {m} sleep 60) & (exec -a {m} sleep 60)",
        "setsid bash -c 'exec -a {m} sleep 60' & sleep 60",
        "(setsid bash -c '(setsid bash -c \"exec -a {m} sleep 60\" &) ; exec -a {m} sleep 60' &); "
        "sleep 60",
        "trap '' TERM INT HUP; (trap '' TERM; exec -a {m} sleep 60) & while :; do sleep 1; done",
    ],
    ids=["plain", "background", "setsid", "double", "deaf"],
)
async def test_the_whole_tree_ends_with_the_timeout(bare: Shell, mark: str, command: str) -> None:
    result = await bare(command.format(m=mark), timeout=0.4)
    assert (result.timed_out, result.killed) == (True, "timeout")
    assert "ended after 0.4 s" in result.notes[0]
    assert survivors(mark) == []


async def test_what_was_said_before_the_timeout_is_kept(bare: Shell) -> None:
    result = await bare("echo before; sleep 60", timeout=0.4)
    assert result.stdout == "before\n"


async def test_daemons_end_with_their_command(bare: Shell, mark: str) -> None:
    started = time.monotonic()
    result = await bare(f"(setsid bash -c 'exec -a {mark} sleep 60' &); echo done")
    assert (result.exit_code, result.stdout) == (0, "done\n")
    assert time.monotonic() - started < 20
    assert survivors(mark) == []


async def test_the_tree_ends_when_the_caller_is_cancelled(bare: Shell, mark: str) -> None:
    with anyio.move_on_after(0.4) as scope:
        await bare(f"(setsid bash -c 'exec -a {mark} sleep 60' &); sleep 60")
    assert scope.cancelled_caught
    assert survivors(mark) == []


async def test_cancelling_at_any_moment_leaves_nothing(bare: Shell, mark: str) -> None:
    for step in range(30):
        with anyio.move_on_after(step * 0.0007):
            await bare(f"exec -a {mark} sleep 60")
    assert survivors(mark) == []


async def test_the_middle_of_a_flood_is_dropped_and_all_of_it_spilled(
    bare: Shell, tmp_path: Path
) -> None:
    spill = tmp_path / "spill"
    limits = OutputLimits(keep=1000, spill=str(spill))
    result = await bare("seq 1 100000", output=limits)
    assert result.truncated
    assert result.stdout.startswith("1\n2\n3\n")
    assert result.stdout.endswith("\n99999\n100000\n")
    assert f"bytes of output left out; the output is in {spill}" in result.stdout
    assert len(result.stdout) < 1200
    assert spill.read_text() == "".join(f"{n}\n" for n in range(1, 100001))
    assert spill.stat().st_mode & 0o777 == 0o600


async def test_a_spill_file_is_not_written_through_a_link(bare: Shell, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "spill").symlink_to(target)
    limits = OutputLimits(keep=1000, spill=str(tmp_path / "spill"))
    result = await bare("seq 1 10000", output=limits)
    assert result.truncated
    assert any("could not be kept" in note for note in result.notes)
    assert target.read_text() == "mine"


async def test_an_endless_flood_is_ended(bare: Shell, mark: str) -> None:
    result = await bare(f"exec -a {mark} yes", output=OutputLimits(keep=1000, total=5_000_000))
    assert result.killed == "output"
    assert "it wrote more than 5,000,000 bytes" in result.notes[0]
    assert len(result.stdout) < 1200


async def test_a_kept_process_talks_and_ends_with_its_scope(
    supervisor: Supervisor, mark: str
) -> None:
    said = bytearray()

    async def take(stream: str, data: bytes) -> None:
        said.extend(data)

    async with (
        supervisor.open(["bash"], sandbox=None, cwd="/") as process,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(process.drain, take)
        await process.send(f"(exec -a {mark} sleep 60) &\n echo hello\n".encode())
        with anyio.fail_after(5):
            while b"hello" not in said:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert survivors(mark) == []


async def test_pipes_end_as_in_a_shell(bare: Shell) -> None:
    result = await bare("yes | head -1; echo ${PIPESTATUS[0]}")
    assert result.stdout == "y\n141\n"


async def test_many_at_once(bare: Shell) -> None:
    outputs: list[str] = []

    async def one(number: int) -> None:
        outputs.append((await bare(f"echo {number}")).stdout)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert sorted(outputs, key=int) == [f"{n}\n" for n in range(20)]


async def test_descriptors_stay_flat(bare: Shell) -> None:
    await bare("true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        await bare("true")
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_killed_keeper_is_replaced(bare: Shell) -> None:
    await bare("true")
    os.kill(KEEPER.pid, signal.SIGKILL)
    os.waitpid(KEEPER.pid, 0)
    assert (await bare("echo again")).stdout == "again\n"


async def test_a_killed_warden_takes_its_tree_with_it(bare: Shell, mark: str) -> None:
    async def kill_the_warden() -> None:
        while not survivors(mark):
            await anyio.sleep(0.02)
        pid = int(survivors(mark)[-1].split(":")[0])
        while _parent(pid) != KEEPER.pid:
            pid = _parent(pid)
        os.kill(pid, signal.SIGKILL)

    async def run() -> None:
        with pytest.raises(RunError, match="supervisor died"):
            await bare(f"(setsid bash -c 'exec -a {mark} sleep 60' &); sleep 60")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(kill_the_warden)
    with anyio.fail_after(5):
        while survivors(mark):
            await anyio.sleep(0.02)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


PROGRAM = """
import anyio, sys
from bridle.sandbox.supervisor import Supervisor
from bridle.sandbox.kinds import make_sandbox
from bridle.sandbox.policy import default_policy
mark, kind, root = sys.argv[1:]
sandbox = None if kind == "bare" else make_sandbox(kind, default_policy(root, temp=root + "/t"))
command = f"(setsid bash -c 'exec -a {mark} sleep 60' &); exec -a {mark} sleep 60"
async def one():
    await Supervisor().run(["bash", "-c", command], sandbox=sandbox, cwd="/")
async def main():
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(one)
        print("go", flush=True)
anyio.run(main)
"""


@pytest.mark.parametrize("kind", ["bare", pytest.param("bubblewrap", marks=pytest.mark.bwrap)])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_no_orphan_after_we_are_killed(
    mark: str, kind: str, number: signal.Signals, workspace: Path
) -> None:
    (workspace / "t").mkdir()
    rounds = int(os.environ.get("BRIDLE_KILL_ROUNDS", "4"))
    for step in range(rounds):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, mark, kind, str(workspace)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            preexec_fn=hear_ctrl_c,
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(step * 0.12 / max(1, rounds - 1) if step else 0.4)
        process.send_signal(number)
        process.wait()
        process.stdout.close()
        deadline = time.monotonic() + 30
        while (survivors(mark) or keepers(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert survivors(mark) == []
        assert keepers(process.pid) == []
        assert list(workspace.iterdir()) == [workspace / "t"]


def hear_ctrl_c() -> None:
    """A shell starts its background jobs, this test perhaps among them, with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def keepers(owner: int) -> list[str]:
    """The keeper and the wardens of a process."""
    return [line for line in survivors("sandbox.keeper") if line.endswith(f"\\x00{owner}\\x00'")]


async def test_a_flood_of_output_leaves_the_others_their_turn() -> None:
    """It is always there to be read, so who only reads never gives way: not to a timeout either."""
    process = Running(Launch(argv=("true",), cwd="/", env={}))
    process._streams["stdout"] = os.open("/dev/zero", os.O_RDONLY)
    chunks = 0

    async def take(_stream: str, _data: bytes) -> None:
        nonlocal chunks
        chunks += 1
        assert chunks < 5000, "nothing else had its turn"
        time.sleep(0.001)

    try:
        with anyio.move_on_after(0.2) as limit:
            await process.drain(take)
    finally:
        await process.end()
    assert limit.cancelled_caught
    assert chunks > 1
