"""Two processes on one thread: one works, the other is told; a late one's writes are refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle.errors import ThreadInUse
from support.holder import make
from support.kernel import check_log
from support.outline import only

HOLDER = Path(__file__).parent.parent / "support" / "holder.py"


@contextmanager
def holder(path: Path, lease_seconds: float, kind: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, str(HOLDER), str(path), str(lease_seconds), kind],
        env={**os.environ, "PYTHONPATH": str(HOLDER.parent.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def until(path: Path, process: subprocess.Popen[str]) -> None:
    with anyio.fail_after(30):
        while not path.exists():
            assert process.poll() is None, process.communicate()
            await anyio.sleep(0.01)


async def test_the_second_process_is_told_who_works_on_the_thread_since_when(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with holder(path, 30, "fenced") as process:
        await until(tmp_path / "began-first", process)
        async with make(path, "second") as harness:
            session = await harness.session()
            with pytest.raises(ThreadInUse) as refused:
                await session.send("me too")
            assert f"pid {process.pid} on " in refused.value.owner
            since = datetime.fromisoformat(refused.value.since)
            assert abs((datetime.now(UTC) - since).total_seconds()) < 60
            assert "Steer, answer or abort it" in str(refused.value)
            await session.abort()  # that much it may
            out, err = process.communicate(timeout=30)
            assert json.loads(out) == {"reason": "user_interrupt"}, err
            (tmp_path / "go-second").touch()
            assert (await session.send("now me")).text == "done"


async def test_a_killed_process_is_taken_over_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with holder(path, 3600, "fenced") as process:
        await until(tmp_path / "began-first", process)
        process.kill()
        process.wait()
        (tmp_path / "go-second").touch()
        async with make(path, "second") as harness:
            session = await harness.session()
            run_id = await session.open_run()
            await session.resume()
            with anyio.fail_after(20):
                assert (await session.wait(run_id)).text == "done"
            events = await harness.store.events(session.thread_id)
            taken = [e for e in events if e.type == "lease_taken"]
            assert [e.epoch for e in taken] == [1, 2]
            assert taken[1].took_over == f"pid {process.pid} on {taken[0].owner.host}"


async def overtaken(path: Path, kind: str) -> tuple[list[Any], dict[str, Any]]:
    """Stop a process until its lease expired, take over, finish, and let it write again."""
    directory = path.parent
    with holder(path, 0.5, kind) as process:
        await until(directory / "began-first", process)
        os.kill(process.pid, signal.SIGSTOP)
        (directory / "go-second").touch()
        async with make(path, "second") as harness:
            session = await harness.session()
            run_id = await session.open_run()
            with anyio.fail_after(20):
                while True:  # until the lease of the stopped process has expired
                    await session.resume()
                    try:
                        result = await session.wait(run_id)
                    except ThreadInUse:
                        continue
                    if result.reason == "end_turn":
                        break
                    await anyio.sleep(0.05)
            (directory / "go-first").touch()
            os.kill(process.pid, signal.SIGCONT)
            out, err = process.communicate(timeout=30)
            assert out, err
            return await harness.store.events(session.thread_id), json.loads(out)


async def test_after_expiry_the_first_ones_late_writes_are_refused(tmp_path: Path) -> None:
    events, said = await overtaken(tmp_path / "store.db", "fenced")
    check_log(events)
    assert [e.result for e in events if e.type == "tool_end"] == ["from the second"]
    assert only(events, "agent_end") == ["agent_end end_turn"]
    assert said.get("reason") == "end_turn", "it is told how the run ended, by whom it may"


async def test_the_control_an_unfenced_writer_writes_twice(tmp_path: Path) -> None:
    events, _ = await overtaken(tmp_path / "control.sqlite", "unfenced")
    results = [e.result for e in events if e.type == "tool_end"]
    assert results == ["from the second", "from the first"]
