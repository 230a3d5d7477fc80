"""What another process admits reaches a running drain, a parked session and a reader here."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import msgspec

from bridle import Rules, tool
from bridle.testing import ScriptedModel, calls, says
from bridle.types.content import Text
from bridle.types.events import InputAdmitted, RunEnded
from bridle.types.ops import Approve, Interrupt, Op, Steer
from support.outline import outline

ADMIT = Path(__file__).parent.parent / "support" / "admit.py"


async def elsewhere(path: Path, thread_id: str, input_id: str, op: Op) -> None:
    """Admit an op in another process."""
    argv = [str(path), thread_id, input_id, msgspec.json.encode(op).decode()]
    done = await anyio.run_process([sys.executable, str(ADMIT), *argv], stderr=subprocess.PIPE)
    assert done.returncode == 0


def seconds_between(events: list[Any], first: type, last: type) -> float:
    """By the clock of the log, from the last admission to what followed from it."""
    at = [datetime.fromisoformat(e.at) for e in events if isinstance(e, first)][-1]
    return (
        datetime.fromisoformat(next(e.at for e in events if isinstance(e, last))) - at
    ).total_seconds()


@tool(category="read", read_only=True)
async def forever() -> str:
    """Never come back."""
    await anyio.sleep_forever()
    return ""


@tool(category="execute")
async def act() -> str:
    """Do it."""
    return "done"


async def test_an_interrupt_from_elsewhere_stops_a_running_tool(
    opened: Any, tmp_path: Path
) -> None:
    harness = await opened(ScriptedModel([calls("forever")]), [forever])
    session = await harness.session()
    run = session.start("go")
    with anyio.fail_after(30):
        await run.begin()
        while not await harness.store.run(run.id):
            await anyio.sleep(0.01)
        op = Interrupt(run_id=run.id)
        await elsewhere(tmp_path / "store.db", session.thread_id, "in_x", op)
        result = await run
    assert result.reason == "user_interrupt"
    events = await harness.store.events(session.thread_id)
    assert outline(events)[-2:] == ["tool_end interrupted", "agent_end user_interrupt"]
    assert seconds_between(events, InputAdmitted, RunEnded) < 5


async def test_an_approval_from_elsewhere_wakes_a_parked_session(
    opened: Any, tmp_path: Path
) -> None:
    model = ScriptedModel([calls("act"), says("did it")])
    harness = await opened(model, [act], permissions=Rules())
    session = await harness.session()
    result = await session.send("go")
    assert result.reason == "awaiting"
    (pending,) = result.pending
    seen: list[Any] = []
    session.events.subscribe(seen.append)
    with anyio.fail_after(30):
        op = Approve(id=pending.id)
        await elsewhere(tmp_path / "store.db", session.thread_id, f"{pending.id}.answer", op)
        while not any(isinstance(event, RunEnded) for event in seen):
            await anyio.sleep(0.01)
    assert (await session.wait(result.run_id)).text == "did it"
    assert outline(seen)[:3] == [
        "input_admitted approve",
        "tool_approval_answered approved",
        "agent_resumed",
    ]


async def test_a_steer_from_elsewhere_is_heard_before_the_next_request(
    opened: Any, tmp_path: Path
) -> None:
    gate = anyio.Event()

    @tool(category="read", read_only=True)
    async def wait() -> str:
        """Wait for the test."""
        await gate.wait()
        return "waited"

    model = ScriptedModel([calls("wait"), says("heard")])
    harness = await opened(model, [wait])
    session = await harness.session()
    run = session.start("go")
    with anyio.fail_after(30):
        await run.begin()
        op = Steer(parts=(Text("and be quick"),))
        await elsewhere(tmp_path / "store.db", session.thread_id, "in_x", op)
        gate.set()
        await run
    assert [m.role for m in model.requests[1].messages] == ["user", "assistant", "tool", "user"]
    assert model.requests[1].messages[-1].text == "and be quick"


async def test_a_session_waits_for_a_run_that_another_process_works_on(
    opened: Any, tmp_path: Path
) -> None:
    """The other process is a harness with a bus and a store of its own."""
    gate = anyio.Event()

    @tool(category="read", read_only=True)
    async def wait() -> str:
        """Wait for the test."""
        await gate.wait()
        return "waited"

    import bridle.store.owner

    worker = await opened(ScriptedModel([calls("wait"), says("done there")]), [wait])
    working = await worker.session()
    run = working.start("go")
    await run.begin()
    while not working.is_running or not await worker.store.run(run.id):
        await anyio.sleep(0.01)
    watcher = await opened(ScriptedModel(), [wait])
    owner = msgspec.structs.replace(bridle.store.owner.this_process(), started="not this one")
    watcher._engine.dispatcher.drain.owner = owner
    watching = await watcher.session(thread_id=working.thread_id)
    got: list[Any] = []

    async def read() -> None:
        async for event in watching.events.replay():
            got.append(event)
            if isinstance(event, RunEnded):
                return

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.sleep(0.15)
            gate.set()
            result = await watching.wait(run.id)
    assert result.text == "done there"
    assert [event.seq for event in got] == list(range(1, len(got) + 1))
    await run
