"""The parent's side of the fork server: start it, give it jobs, end it without leftovers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
import msgspec

from bridle.repair.workspace import import_roots

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from anyio.abc import Process

INJECT = Path(__file__).parent / "inject"
BOOT = "import sys; sys.path.insert(0, {inject!r}); from bridle_probe.server import main; main()"
Runner = Literal["pytest", "unittest"]


class ProbeFailed(Exception):
    """The test process could not start or went away; the message says what it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How to start a probe: which Python, which runner, where, and what to load beforehand."""

    python: str
    root: Path
    original: Path
    scratch: Path
    runner: Runner
    args: tuple[str, ...] = ()
    mode: Literal["hot", "cold"] = "hot"
    preload: tuple[str, ...] = ()


class Hello(msgspec.Struct):
    """What a probe tells when it is ready."""

    tests: list[str] = []
    errors: dict[str, str] = {}
    error_frames: dict[str, list[tuple[str, int]]] = {}
    import_lines: dict[str, list[int]] = {}
    modules: list[str] = []
    failed: str | None = None


class Answer(msgspec.Struct):
    """What came of a job: facts in order, and how the child ended."""

    job: int
    end: str
    facts: list[list[Any]] = []


@dataclass(slots=True, kw_only=True)
class Job:
    """Tests to run in one forked child, with edits applied only there."""

    tests: Sequence[str] | None
    edits: Sequence[dict[str, Any]] = ()
    overlay: dict[str, str] = field(default_factory=dict)
    trace: bool = False
    stop: bool = True
    limit: float = 5.0
    silence: float = 15.0
    total: float = 600.0


class Probe:
    """A running fork server."""

    def __init__(self, process: Process, hello: Hello, *, log: Path) -> None:
        self._process = process
        self.hello = hello
        self._log = log
        self._next = 0
        self._waiting: dict[int, anyio.Event] = {}
        self._answers: dict[int, Answer] = {}
        self._gone = False

    async def limits(self, limits: dict[str, float]) -> None:
        """Set the CPU seconds that each test may take from now on."""
        await self._send({"limits": limits})

    async def run(self, job: Job) -> Answer:
        """Run a job to its end; several may be under way."""
        self._next += 1
        number = self._next
        event = self._waiting[number] = anyio.Event()
        await self._send({"job": number, **_fields(job)})
        if not self._gone:
            await event.wait()
        self._waiting.pop(number, None)
        if number not in self._answers:
            raise ProbeFailed(f"the test process ended: {tail(self._log)}")
        return self._answers.pop(number)

    async def _send(self, value: dict[str, Any]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            await stdin.send(msgspec.json.encode(value) + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            self._lost()

    def _lost(self) -> None:
        self._gone = True
        for event in self._waiting.values():
            event.set()

    async def listen(self, lines: AsyncIterator[bytes]) -> None:
        """Hand answers to those who wait for them."""
        async for line in lines:
            answer = msgspec.json.decode(line, type=Answer)
            self._answers[answer.job] = answer
            if (event := self._waiting.get(answer.job)) is not None:
                event.set()
        self._lost()


@asynccontextmanager
async def open_probe(setup: Setup, *, patience: float = 60.0) -> AsyncIterator[Probe]:
    """Start a probe and wait for its tests; every process of it ends with the block.

    Raises ProbeFailed when the runner cannot start or takes longer than `patience`.
    """
    setup.scratch.mkdir(parents=True, exist_ok=True)
    log = setup.scratch / f"probe-{setup.mode}.log"
    with log.open("wb") as stderr:
        process = await anyio.open_process(
            [setup.python, "-c", BOOT.format(inject=str(INJECT))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=setup.root,
            env=environment(setup),
            start_new_session=True,
        )
    problem: Exception | None = None
    try:
        lines = _lines(process)
        hello = Hello(failed="no answer in time")
        with anyio.move_on_after(patience):
            stdin = process.stdin
            assert stdin is not None
            await stdin.send(msgspec.json.encode(_order(setup)) + b"\n")
            first = await anext(lines, None)
            hello = Hello(failed="it ended") if first is None else _hello(first)
        if hello.failed:
            raise ProbeFailed(f"{hello.failed}: {tail(log)}")
        async with anyio.create_task_group() as tasks:
            probe = Probe(process, hello, log=log)
            tasks.start_soon(probe.listen, lines)
            try:
                yield probe
            except Exception as caught:  # noqa: BLE001  raised below, outside the group
                problem = caught
            tasks.cancel_scope.cancel()
        if problem is not None:
            raise problem
    finally:
        await _end(process)


def environment(setup: Setup) -> dict[str, str]:
    """The user's environment, with the copy importable first and nothing that reorders tests."""
    env = dict(os.environ)
    before = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
    env["PYTHONPATH"] = os.pathsep.join([*import_roots(setup.root), *before])
    env["PYTHONHASHSEED"] = "0"
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in ("PYTEST_ADDOPTS", "COVERAGE_PROCESS_START", "PYTEST_CURRENT_TEST"):
        env.pop(name, None)
    return env


def tail(log: Path, limit: int = 600) -> str:
    """The end of what the test process printed."""
    with contextlib.suppress(OSError):
        return log.read_text(errors="replace")[-limit:].strip()
    return ""


def _order(setup: Setup) -> dict[str, Any]:
    return {
        "root": str(setup.root),
        "original": str(setup.original),
        "runner": setup.runner,
        "args": list(setup.args),
        "mode": setup.mode,
        "preload": list(setup.preload),
        "cache": str(setup.scratch / "pytest_cache"),
        "scratch": str(setup.scratch),
    }


def _fields(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in Job.__slots__}


def _hello(line: bytes) -> Hello:
    try:
        return msgspec.json.decode(line, type=Hello)
    except msgspec.DecodeError:
        return Hello(failed="it spoke nonsense")


async def _lines(process: Process) -> AsyncIterator[bytes]:
    assert process.stdout is not None
    parts: list[bytes] = []
    async for chunk in process.stdout:
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            parts.append(piece)
            yield b"".join(parts)
            parts = []
        parts.append(rest)


async def _end(process: Process) -> None:
    """Close its input, which makes it kill its children; insist after two seconds."""
    with anyio.CancelScope(shield=True):
        if process.stdin is not None:
            with contextlib.suppress(anyio.BrokenResourceError, OSError):
                await process.stdin.aclose()
        with anyio.move_on_after(2):
            await process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        await process.aclose()
