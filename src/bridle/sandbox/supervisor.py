"""The one supervisor of child processes: limits, live output, and whole trees that end."""

from __future__ import annotations

import os
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

import anyio

from bridle.ports.processes import OutputLimits, ProcessResult
from bridle.ports.sandbox import Launch
from bridle.sandbox.environment import clean
from bridle.sandbox.running import Conversation, Running, explain
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from bridle.ports.processes import OnOutput, Process
    from bridle.ports.sandbox import Sandbox

DEFAULT_OUTPUT = OutputLimits()
OUT_OF_MEMORY = ("memory.oom_control:oom_kill", "memory.events:oom_kill")


class Supervisor(Fixed, frozen=True):
    """Runs commands through the keeper; any number of supervisors share the one keeper."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        sandbox: Sandbox | None,
        cwd: str,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        stdin: bytes | None = None,
        stderr: Literal["merge", "separate"] = "merge",
        output: OutputLimits = DEFAULT_OUTPUT,
    ) -> ProcessResult:
        """Run a command to its end; the tree is gone when this returns, raises or is cancelled."""
        started = time.monotonic()
        talk = Conversation(output, on_output, stdin)
        try:
            async with self.open(argv, sandbox=sandbox, cwd=cwd, env=env, stderr=stderr) as process:
                ended = await talk.hold(process, timeout)
        finally:
            talk.close()
        out_of_memory = any(ended.counters.get(name) for name in OUT_OF_MEMORY)
        if talk.killed is None and ended.code != 0 and out_of_memory:
            talk.killed = "memory"
        out, err = talk.captures["stdout"], talk.captures["stderr"]
        problems = tuple(problem for problem in (out.problem, err.problem) if problem)
        return ProcessResult(
            exit_code=ended.code,
            stdout=out.text(),
            stderr=err.text(),
            truncated=out.truncated or err.truncated,
            spilled=out.spilled or err.spilled,
            timed_out=talk.killed == "timeout",
            killed=talk.killed,
            duration=time.monotonic() - started,
            cpu_seconds=ended.cpu_seconds,
            notes=(*explain(talk.killed, ended, timeout, output), *problems, *ended.notes),
        )

    @asynccontextmanager
    async def open(
        self,
        argv: Sequence[str],
        *,
        sandbox: Sandbox | None,
        cwd: str,
        env: Mapping[str, str] | None = None,
        stderr: Literal["merge", "separate"] = "merge",
    ) -> AsyncIterator[Process]:
        """Start a command and keep it; leaving the block ends the whole tree."""
        if sandbox is None:
            launch = Launch(argv=tuple(argv), cwd=cwd, env=clean(os.environ, extra=env))
            async with _started(launch, stderr=stderr) as process:
                yield process
        else:
            async with (
                sandbox.enter(argv, cwd=cwd, env=env) as launch,
                _started(launch, stderr=stderr) as process,
            ):
                yield process


@asynccontextmanager
async def _started(
    launch: Launch, *, stderr: Literal["merge", "separate"]
) -> AsyncIterator[Running]:
    process = Running(launch)
    try:
        await process.start(separate=stderr == "separate")
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await process.end()
