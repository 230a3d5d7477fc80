"""Runs that are cut while hooks run: aborted, killed, out of time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import Hook, HookContext, HookResult, Limits
from bridle.testing import ScriptedModel, calls, says
from support.cli import Bridle
from support.hooks import effect, events, log_of, write_project

Opened = Callable[..., Any]
pytestmark = pytest.mark.anyio


class Gatekeeper:
    """A hook that says when it was reached and goes on when it is told to."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.free = anyio.Event()

    async def __call__(self, context: HookContext) -> None:
        self.reached.set()
        await self.free.wait()


def hanging(event: str) -> tuple[Gatekeeper, Hook]:
    keeper = Gatekeeper()

    async def handler(context: HookContext) -> None:
        await keeper(context)

    return keeper, Hook(event=event, handler=handler, timeout=60)


@pytest.mark.parametrize(
    ("event", "acts"),
    [("PreToolUse", []), ("PostToolUse", ["x"]), ("Stop", ["x"])],
)
async def test_an_abort_does_not_wait_for_a_hook(
    opened: Opened, model: ScriptedModel, acted: list[str], event: str, acts: list[str]
) -> None:
    model.plays(calls("act", what="x"), says("done"))
    keeper, hook = hanging(event)
    async with opened(hook) as harness:
        session = await harness.session()
        run = session.start("go")
        await run.begin()
        with anyio.fail_after(30):
            await keeper.reached.wait()
            await session.abort()
            result = await session.wait(run.id)
        assert result.reason == "user_interrupt"
        ends = await log_of(harness, "tool_end")
        assert len(ends) == 1
        assert ends[0].is_error is (event == "PreToolUse")  # what was done is recorded as done
    assert acted == acts


async def test_a_run_that_is_out_of_time_does_not_wait_for_a_hook(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    model.plays(calls("act", what="x"), says("done"))
    _, hook = hanging("PreToolUse")
    async with opened(hook, limits=Limits(timeout=1)) as harness:
        with anyio.fail_after(30):
            result = await (await harness.session()).send("go")
        assert result.reason == "timeout"
    assert acted == []


async def test_all_that_hooks_ask_for_waits_together(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    model.plays([calls("act", what=name) for name in "abc"], says("done"))
    hook = Hook(event="PreToolUse", handler=lambda _context: HookResult(decision="ask"))
    async with opened(hook) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert len(result.pending) == 3
        assert len(await log_of(harness, "agent_paused")) == 1
        for pending in result.pending:
            await session.approve(pending.id)
        assert (await session.wait(result.run_id)).reason == "end_turn"
    assert acted == ["a", "b", "c"]


SLOW_ONCE = "test -e begun || { touch begun; sleep 54321; }; exit 0"


@pytest.mark.parametrize("hooks_left", [True, False])
def test_a_kill_while_a_hook_runs_loses_nothing(project: Bridle, hooks_left: bool) -> None:
    write_project(project, {"event": "PreToolUse", "command": SLOW_ONCE, "timeout": 120})
    child = project.start("run", "go", "--trust")
    begun = project.cwd / "begun"
    end = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < end
        assert child.poll() is None
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    while sleepers():
        assert time.monotonic() < end, "the hook outlived its harness"
        time.sleep(0.05)
    assert not effect(project)
    assert events(project, "permission_decided") == []  # the call is recorded, not decided
    assert len(events(project, "tool_start")) == 1
    if not hooks_left:  # opened again without hooks, it goes on without them
        write_project(project)
    done = project("run", "--continue")
    assert done.code == 0, done.err
    assert effect(project)
    assert len(events(project, "tool_start")) == 1
    assert len(events(project, "hook_ran")) == hooks_left
    assert project("replay", "last").code == 0


def sleepers() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"54321" in (entry / "cmdline").read_bytes().split(b"\0"):
                    found.append(entry.name)
            except OSError:
                continue
    return found
