"""Child processes: run one to its end, or keep one and talk to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from bridle.types.base import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from bridle.ports.sandbox import Sandbox

Stream = Literal["stdout", "stderr"]
OnOutput = Callable[[Stream, str], Awaitable[None]]
"""Called with text as it arrives; what it takes long for slows the command down."""

Killed = Literal["timeout", "output", "memory"]
"""Why a command was ended before its own end; an aborted one has no result at all."""


class OutputLimits(Fact, frozen=True, kw_only=True):
    """How much output is kept, in bytes per stream.

    The first and the last half of `keep` stay in memory. Once more than that arrives, all of it
    goes to `spill` (at most `spill_max`), and past `total` the command is ended.
    """

    keep: int = 64 * 1024
    spill: str | None = None
    spill_max: int = 64 * 1024 * 1024
    total: int = 1024 * 1024 * 1024


class Exit(Fact, frozen=True, kw_only=True):
    """How a process ended: its code (negative: the signal) and what its tree used."""

    code: int
    cpu_seconds: float = 0.0
    counters: dict[str, int] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()


class ProcessResult(Fact, frozen=True, kw_only=True):
    """What a finished command left behind.

    `stdout` holds both streams in their order unless they were asked for separately. `killed` is
    set when it was ended by us or by a limit, and `notes` say so in words for the reader.
    """

    exit_code: int
    stdout: str
    stderr: str = ""
    truncated: bool = False
    spilled: str | None = None
    timed_out: bool = False
    killed: Killed | None = None
    duration: float = 0.0
    cpu_seconds: float = 0.0
    notes: tuple[str, ...] = ()


class Process(Protocol):
    """A running command. Leaving its scope ends it and everything that it started."""

    @property
    def pid(self) -> int:
        """The pid of what was started, outside the sandbox."""
        ...

    async def send(self, data: bytes) -> None:
        """Write to its standard input; raises `BrokenPipeError` when nobody reads."""
        ...

    def close_stdin(self) -> None:
        """Tell it that no more input comes."""
        ...

    async def drain(self, take: Callable[[Stream, bytes], Awaitable[None]]) -> None:
        """Hand over what it writes, as it writes it, until all streams are closed."""
        ...

    def kill(self) -> None:
        """End the whole tree now."""
        ...

    async def wait(self) -> Exit:
        """Wait until it and all that it started are gone."""
        ...


class Processes(Protocol):
    """The one place where child processes come from.

    `sandbox` has no default: running without one is said, never forgotten.
    """

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
        output: OutputLimits = ...,
    ) -> ProcessResult:
        """Run a command to its end within its limits."""
        ...

    def open(
        self,
        argv: Sequence[str],
        *,
        sandbox: Sandbox | None,
        cwd: str,
        env: Mapping[str, str] | None = None,
        stderr: Literal["merge", "separate"] = "merge",
    ) -> AbstractAsyncContextManager[Process]:
        """Start a command and keep it; its standard input stays open."""
        ...
