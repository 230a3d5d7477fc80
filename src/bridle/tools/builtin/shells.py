"""Persistent shells: one bash per session, fed command by command, ended with its run.

A shell runs under the supervisor in the workspace's sandbox, in a task of the harness. It dies with
its run, with the harness, and, because the supervisor watches us, with a kill -9 of ourselves. It
is never started again by itself: who names one that is gone is told so.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

import anyio

from bridle.errors import RunError, ToolError
from bridle.ports.processes import OutputLimits
from bridle.sandbox.output import Capture
from bridle.types.events import LeaseTaken, RunEnded

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup, TaskStatus

    from bridle.ports.processes import Process, Stream
    from bridle.ports.tools import CallScope
    from bridle.tools.builtin.workspace import Workplace
    from bridle.types.events import AnyEvent

MAX_SHELLS = 8
"""At once, in one run."""

KEEP = OutputLimits(keep=64 * 1024)
MAX_OUTPUT = 1024 * 1024 * 1024

DRIVER = r"""
declare -r BRIDLE_MARK=$1
set --
exec 9<&0 8>&1 </dev/null
while IFS= read -r -d '' -u 9 BRIDLE_CWD && IFS= read -r -d '' -u 9 BRIDLE_COMMAND; do
  builtin cd -- "$BRIDLE_CWD" && builtin eval "$BRIDLE_COMMAND" 8>&- 9<&-
  builtin printf '\0%s %d\0%s\0' "$BRIDLE_MARK" "$?" "$PWD" >&8
done
"""
"""Reads a directory and a command, runs it, and says how it ended and where the shell is then.

Commands have no input and do not see the line that commands come on. Each begins in the directory
that it was decided for.
"""


class Shell:
    """One session: what it said since somebody last looked, and whether a command runs in it."""

    def __init__(self, id: str, scope: CallScope, cwd: str) -> None:
        self.id = id
        self.thread_id = scope.thread_id
        self.run_id = scope.run_id
        self.owner = scope.owner
        self.cwd = cwd
        self.busy = False
        self.exit_code: int | None = None
        self.ended: str | None = None
        """Why it is over, once it is."""
        self._tell = scope.output
        self._mark = f"bridle-{os.urandom(16).hex()}"
        self._process: Process | None = None
        self._raw = bytearray()
        self._said = Capture(KEEP)
        self._total = 0
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._news = anyio.Event()
        self._life = anyio.CancelScope()

    async def live(self, place: Workplace, *, task_status: TaskStatus[None]) -> None:
        """Be the shell's task: start it, listen to it, and see it end."""
        argv = ["bash", "--noprofile", "--norc", "-c", DRIVER, "bash", self._mark]
        try:
            with self._life:
                async with place.processes.open(argv, sandbox=place.sandbox, cwd=self.cwd) as shell:
                    self._process = shell
                    task_status.started()
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(shell.drain, self._take)
                        code = (await shell.wait()).code
                    self.ended = self.ended or f"it exited with code {code}"
        except* RunError as error:
            self.ended = f"its supervisor failed: {error.exceptions[0]}"
        finally:
            self.ended = self.ended or "it was stopped"
            self._process = None
            self._changed()

    async def run(self, command: str, cwd: str, seconds: float, scope: CallScope) -> None:
        """Give it a command and wait for its end, or until the time is up."""
        if self.busy:
            raise ToolError(
                f"A command is still running in session {self.id}.",
                hint="Read the session until it ends, or stop it.",
                kind="busy",
            )
        self._tell = scope.output
        self.exit_code = None
        self.busy = True
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError, anyio.ClosedResourceError):
                await self._process.send(os.fsencode(cwd) + b"\0" + os.fsencode(command) + b"\0")
        await self.wait(seconds, until=lambda: not self.busy)

    async def wait(self, seconds: float, *, until: Callable[[], bool]) -> None:
        """Wait for something to become true, for the end, or until the time is up."""
        with anyio.move_on_after(seconds):
            while not until() and self.ended is None:
                await self._news.wait()

    @property
    def has_news(self) -> bool:
        """Whether it said something that nobody has read."""
        return self._said.total > 0

    def read(self) -> str:
        """What it said since this was asked last."""
        said, self._said = self._said, Capture(KEEP)
        return said.text()

    def end(self, why: str) -> None:
        """End it, and everything that runs in it."""
        self.ended = self.ended or why
        self._life.cancel()

    async def _take(self, _stream: Stream, data: bytes) -> None:
        self._total += len(data)
        self._raw += data
        start = f"\0{self._mark} ".encode()
        while (at := self._raw.find(start)) >= 0:
            fields = bytes(self._raw[at + len(start) :]).split(b"\0", 2)
            if len(fields) < 3:
                self._hear(at)
                break
            self._hear(at)
            self.exit_code = int(fields[0])
            self.cwd = os.fsdecode(fields[1])
            self.busy = False
            self._raw = bytearray(fields[2])
        else:
            self._hear(len(self._raw) - _begun(self._raw, start))
        if self._total > MAX_OUTPUT:
            self.end(f"it wrote more than {MAX_OUTPUT:,} bytes")
        self._changed()

    def _hear(self, size: int) -> None:
        """Take so many bytes as output."""
        data = bytes(self._raw[:size])
        del self._raw[:size]
        if data:
            self._said.add(data)
            if text := self._decode(data):
                self._tell("stdout", text)

    def _changed(self) -> None:
        self._news.set()
        self._news = anyio.Event()


def _begun(data: bytearray, mark: bytes) -> int:
    """How many bytes at the end may be the beginning of the mark."""
    at = data.rfind(b"\0", max(0, len(data) - len(mark)))
    return len(data) - at if at >= 0 and mark.startswith(bytes(data[at:])) else 0


class Shells:
    """The shells of a harness, by id; `tasks` is where they live."""

    def __init__(self, place: Workplace, tasks: Callable[[], TaskGroup]) -> None:
        self.place = place
        self._tasks = tasks
        self._shells: dict[str, Shell] = {}

    async def start(self, scope: CallScope, cwd: str) -> Shell:
        """Start a shell for a call's run; its id follows from the call."""
        alive = [shell for shell in self.of(scope.thread_id) if shell.run_id == scope.run_id]
        if len(alive) >= MAX_SHELLS:
            raise ToolError(f"This run has {MAX_SHELLS} sessions already.", hint="Stop one first.")
        name = "sh_" + hashlib.sha256(scope.call_id.encode()).hexdigest()[:8]
        shell = Shell(name, scope, cwd)
        await self._tasks().start(shell.live, self.place, name=f"shell {name}")
        self._shells[name] = shell
        return shell

    def of(self, thread_id: str) -> list[Shell]:
        """The shells of a thread that are alive."""
        return [s for s in self._shells.values() if s.thread_id == thread_id and s.ended is None]

    def find(self, id: str, thread_id: str) -> Shell:
        """A shell of a thread; raises `ToolError` for one that is not there (any more)."""
        shell = self._shells.get(id)
        if shell is None or shell.thread_id != thread_id:
            alive = ", ".join(shell.id for shell in self.of(thread_id)) or "none"
            raise ToolError(
                f"There is no session {id!r}. A session ends with its run and with the process "
                f"that it was started in; it was not started again. Alive here: {alive}.",
                hint="Start a new one; what was set in the old one is gone.",
                kind="gone",
            )
        return shell

    def directory(self, id: object) -> str | None:
        """Where a shell is now, for the gate."""
        shell = self._shells.get(id) if isinstance(id, str) else None
        return shell.cwd if shell is not None else None

    def forget(self, shell: Shell) -> None:
        """Drop one that is over and was told so."""
        self._shells.pop(shell.id, None)

    def hear(self, event: AnyEvent) -> None:
        """End the shells of a run that ends, or that somebody else goes on with."""
        for shell in list(self._shells.values()):
            match event:
                case RunEnded() if event.run_id == shell.run_id:
                    shell.end("its run ended")
                    self.forget(shell)
                case LeaseTaken() if (
                    event.thread_id == shell.thread_id and event.owner.key != shell.owner
                ):
                    shell.end("another process took its run over")
                    self.forget(shell)
                case _:
                    pass
