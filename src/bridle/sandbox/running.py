"""A command that runs: its streams, its end, and a whole conversation with it."""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from bridle.errors import RunError, ToolError
from bridle.ports.processes import Exit
from bridle.sandbox.groups import only
from bridle.sandbox.output import Capture
from bridle.sandbox.spawn import Link

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from bridle.ports.processes import Killed, OnOutput, OutputLimits, Process, Stream
    from bridle.ports.sandbox import Launch

CHUNK = 64 * 1024
FAREWELL = 15.0
"""How long to wait for the report of a tree that was told to end, in seconds."""


class Running:
    """A command that the keeper started for us."""

    def __init__(self, launch: Launch) -> None:
        self.pid = 0
        self._launch = launch
        self._link = Link()
        self._stdin = -1
        self._streams: dict[Stream, int] = {}
        self._exit: Exit | None = None
        self._waiting = anyio.Lock()

    async def start(self, *, separate: bool) -> None:
        """Start it; raises `ToolError` when it cannot be executed."""
        theirs: list[int] = []
        try:
            read, self._stdin = os.pipe()
            theirs.append(read)
            self._streams["stdout"], write = os.pipe()
            theirs.append(write)
            if separate:
                self._streams["stderr"], write = os.pipe()
            theirs.append(write)
            for fd in (self._stdin, *self._streams.values()):
                os.set_blocking(fd, False)
            await self._link.start(self._launch, theirs)
        finally:
            for fd in set(theirs):
                os.close(fd)
        self._take(await self._link.receive())

    async def send(self, data: bytes) -> None:
        """Write to its standard input; raises `BrokenPipeError` when nobody reads."""
        view = memoryview(data)
        while view:
            if self._stdin < 0:
                raise BrokenPipeError("standard input is closed")
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._stdin)

    def close_stdin(self) -> None:
        """Tell it that no more input comes."""
        if self._stdin >= 0:
            anyio.notify_closing(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    async def drain(self, take: Callable[[Stream, bytes], Awaitable[None]]) -> None:
        """Hand over what it writes, as it writes it, until all streams are closed."""
        if len(self._streams) == 1:
            await self._read("stdout", take)
            return
        async with anyio.create_task_group() as tasks:
            for stream in self._streams:
                tasks.start_soon(self._read, stream, take)

    async def _read(self, stream: Stream, take: Callable[[Stream, bytes], Awaitable[None]]) -> None:
        fd = self._streams[stream]
        while True:
            try:
                data = os.read(fd, CHUNK)
            except BlockingIOError:
                if self._exit is not None:  # the tree is gone: nobody writes who should
                    return
                with contextlib.suppress(anyio.ClosedResourceError):
                    await anyio.wait_readable(fd)
                continue
            if not data:
                return
            await take(stream, data)
            # who writes faster than we read never makes us wait, and would have the loop for itself
            await anyio.lowlevel.checkpoint()

    def kill(self) -> None:
        """End the whole tree now."""
        self._link.hang_up()

    async def wait(self) -> Exit:
        """Wait until it and all that it started are gone."""
        async with self._waiting:
            while self._exit is None:
                self._take(await self._link.receive())
            return self._exit

    async def end(self) -> None:
        """Kill it, wait for the report, and close everything."""
        try:
            self.kill()
            if self.pid and self._exit is None:
                with anyio.move_on_after(FAREWELL), contextlib.suppress(RunError):
                    await self.wait()
        finally:
            self.close_stdin()
            for fd in self._streams.values():
                anyio.notify_closing(fd)
                os.close(fd)
            self._streams.clear()
            self._link.close()

    def _take(self, message: dict[str, Any] | None) -> None:
        match message:
            case {"pid": pid}:
                self.pid = pid
            case {"code": code, "cpu": cpu, "counters": counters, "notes": notes}:
                self._exit = Exit(
                    code=code,
                    cpu_seconds=cpu,
                    counters=counters,
                    notes=(*self._launch.notes, *notes),
                )
                for fd in self._streams.values():  # a reader looks again and sees the end
                    anyio.notify_closing(fd)
            case {"failed": why}:
                raise ToolError(f"cannot run {self._launch.argv[0]!r}: {why}", kind="not_started")
            case {"error": why}:
                raise RunError(f"the process supervisor failed: {why}")
            case _:
                raise RunError("the process supervisor died; the command was ended")


class Conversation:
    """One command from its input to its end, with what it said and why it was ended."""

    def __init__(
        self, limits: OutputLimits, on_output: OnOutput | None, stdin: bytes | None
    ) -> None:
        self.captures: dict[Stream, Capture] = {
            "stdout": Capture(limits),
            "stderr": Capture(limits),
        }
        self.killed: Killed | None = None
        self._total = limits.total
        self._on_output = on_output
        self._stdin = stdin
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decode = {stream: decoder("replace").decode for stream in self.captures}

    async def hold(self, process: Process, timeout: float | None) -> Exit:
        """Feed it, listen to it and wait for its end."""
        with anyio.move_on_after(timeout) as limit:
            await self._talk(process)
        if limit.cancelled_caught:
            self.killed = "timeout"
            process.kill()
            await process.wait()
            await process.drain(self._keep)  # what it said before it was ended
        return await process.wait()

    async def _talk(self, process: Process) -> None:
        error: BaseException | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._feed, process)

                async def listen() -> None:
                    try:
                        await process.drain(self._hear)
                    except _TooMuch:
                        self.killed = "output"
                        process.kill()

                tasks.start_soon(listen)
                await process.wait()
        except BaseExceptionGroup as group:
            error = only(group)
        if error is not None:
            raise error

    async def _feed(self, process: Process) -> None:
        with contextlib.suppress(BrokenPipeError, anyio.ClosedResourceError):
            if self._stdin:
                await process.send(self._stdin)
        process.close_stdin()

    async def _hear(self, stream: Stream, data: bytes) -> None:
        await self._keep(stream, data)
        if self.captures[stream].total > self._total:
            raise _TooMuch
        if self._on_output is not None and (text := self._decode[stream](data)):
            await self._on_output(stream, text)

    async def _keep(self, stream: Stream, data: bytes) -> None:
        self.captures[stream].add(data)

    def close(self) -> None:
        """Close the spill files."""
        for capture in self.captures.values():
            capture.close()


class _TooMuch(Exception):
    """The command said more than it may."""


def explain(
    killed: Killed | None, ended: Exit, timeout: float | None, output: OutputLimits
) -> tuple[str, ...]:
    """Say in words what ended or held back a command."""
    notes: list[str] = []
    match killed:
        case "timeout":
            notes.append(f"The command was ended after {timeout:g} s, with all that it started.")
        case "output":
            notes.append(f"The command was ended: it wrote more than {output.total:,} bytes.")
        case "memory":
            notes.append("The command reached its memory limit, and a process of it was killed.")
        case None:
            pass
    if any(ended.counters.get(name) for name in ("pids.events:max",)):
        notes.append("The command reached its limit of processes; it could not start more.")
    if ended.code in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ):
        notes.append("The command reached the limit for the size of a file.")
    if ended.code in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
        notes.append("The command reached its limit of processor time.")
    return tuple(notes)
