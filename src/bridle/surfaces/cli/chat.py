"""A conversation, line by line: the person in the main thread, the session in another.

So Ctrl-C reaches whoever it is meant for: the line that is being typed, or the turn that runs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bridle.errors import ConfigError, UserError
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.closing import closing
from bridle.surfaces.cli.interact import answer_all
from bridle.surfaces.cli.output import data, talk
from bridle.surfaces.cli.progress import Progress
from bridle.surfaces.cli.signals import CtrlC
from bridle.surfaces.cli.slash import HELP, Leave, command

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from concurrent.futures import Future

    from anyio.from_thread import BlockingPortal

    from bridle.app.coding import Coding
    from bridle.app.results import RunResult
    from bridle.app.session import Session

PROMPT = "> "


class EndOfInput(Exception):
    """There are no more lines."""


class Lines:
    """What the person says: from a terminal with history, or from a pipe."""

    def __init__(self) -> None:
        self.terminal = sys.stdin.isatty()
        if self.terminal:
            import readline  # noqa: F401 - input() has history and editing with it

    def read(self, prompt: str) -> str:
        """One line; raises `EndOfInput`."""
        if self.terminal:
            try:
                return input(prompt)
            except EOFError:
                raise EndOfInput from None
        line = sys.stdin.readline()
        if not line:
            raise EndOfInput
        return line.rstrip("\n")

    async def ask(self, text: str, default: str | None) -> str:
        """A line in answer to a question, for `answer_all`."""
        while True:
            if not self.terminal:
                talk(text)
            said = self.read(f"{text}: ")
            if said.strip() or default is not None:
                return said if said.strip() else default or ""


class Remote:
    """The session's answers, called from the main thread."""

    def __init__(self, portal: BlockingPortal, session: Session) -> None:
        self._call = portal.call
        self._session = session

    async def approve(self, id: str, args: dict[str, Any] | None = None) -> str:
        """Let a call run."""
        run_id: str = self._call(self._session.approve, id, args)
        return run_id

    async def decline(self, id: str, reason: str | None = None) -> str:
        """Do not let a call run."""
        return self._call(self._session.decline, id, reason)

    async def always_allow(self, id: str, scope: str) -> str:
        """Let it run, and more of its kind."""
        return self._call(self._session.always_allow, id, scope)

    async def answer(self, id: str, answer: str | Sequence[str]) -> str:
        """Answer a question."""
        return self._call(self._session.answer, id, answer)

    async def answer_plan(self, id: str, approved: bool, feedback: str | None = None) -> str:
        """Approve a plan or not."""
        return self._call(self._session.answer_plan, id, approved, feedback)


class Chat:
    """One conversation at a terminal or over a pipe."""

    def __init__(self, portal: BlockingPortal, coding: Coding, session: Session) -> None:
        self._portal = portal
        self._coding = coding
        self.session = session
        self._lines = Lines()
        self._progress = Progress(coding.root) if sys.stderr.isatty() else None
        self._last = exits.OK
        self._ctrl_c = CtrlC()
        self._listen()

    def _listen(self) -> None:
        if self._progress is not None:
            self._portal.call(self.session.events.subscribe, self._progress)

    def run(self) -> int:
        """Talk until the person leaves; over a pipe, the code tells how the last turn ended."""
        for text in self._coding.said:
            talk(text)
        if self._lines.terminal:
            talk(f"{self.session.thread_id}; {HELP}")
        with self._ctrl_c:
            try:
                self._go_on_with_open()
                while True:
                    self._one()
            except (EndOfInput, Leave):
                pass
        return exits.OK if self._lines.terminal else self._last

    def _one(self) -> None:
        try:
            with self._ctrl_c.heard():
                line = self._lines.read(PROMPT).strip()
        except KeyboardInterrupt:
            talk("\n(Ctrl-D or /exit leaves)")
            return
        try:
            if line.startswith("/"):
                self._command(line)
            elif line:
                self._turn(lambda: self._portal.call(self._start, line))
        except UserError as error:
            self._last = exits.USAGE
            talk(f"bridle: {error}")

    def _command(self, line: str) -> None:
        session = self._portal.call(command, self._coding.harness, self.session, line)
        if session is not self.session:
            self.session = session
            self._listen()

    async def _start(self, line: str) -> str:
        run = self.session.start(line)
        await run.begin()
        return run.id

    def _go_on_with_open(self) -> None:
        """What an earlier conversation left open is finished first."""
        run_id = self._portal.call(self.session.open_run)
        if run_id is not None:
            talk(f"going on with {run_id}")
            self._portal.call(self.session.resume)
            self._turn(lambda: run_id)

    def _turn(self, begin: Callable[[], str]) -> None:
        run_id = begin()
        while True:
            result = self._wait(run_id)
            if not result.pending:
                break
            if not self._answer(result):
                break
        self._show(result)

    def _wait(self, run_id: str) -> RunResult[Any]:
        """Wait for a turn; Ctrl-C ends it."""
        future: Future[RunResult[Any]]
        future = self._portal.start_task_soon(self.session.wait, run_id)
        while True:
            try:
                with self._ctrl_c.heard():
                    return future.result()
            except KeyboardInterrupt:
                talk("\nstopping this turn")
                self._portal.call(self.session.abort)

    def _answer(self, result: RunResult[Any]) -> bool:
        if self._progress is not None:
            self._progress.finish()
        remote = Remote(self._portal, self.session)
        try:
            with self._ctrl_c.heard():
                return bool(_driven(answer_all(remote, result, self._lines.ask)))
        except KeyboardInterrupt:
            talk("\nstopping this turn")
            self._portal.call(self.session.abort)
            return True
        except EndOfInput:
            return False

    def _show(self, result: RunResult[Any]) -> None:
        streamed = False
        if self._progress is not None:
            self._progress.finish()
            streamed = sys.stdout.isatty() and self._progress.streamed == result.text
        if result.text and not streamed:
            data(result.text)
        self._last = exits.exit_code(
            result.reason, result.verdict, result.error, fail_on_error=self._coding.fail_on_error
        )
        if result.reason != "end_turn" or self._lines.terminal:
            closing(result, model=self.session.models.current)


def _driven(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits for anything but this thread."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the answers are given in this thread")


async def open_session(
    coding: Coding, *, thread: str | None, resume: bool, mode: str | None
) -> Any:
    """The thread to talk in."""
    harness = coding.harness
    if mode is not None:
        harness.check_mode(mode)
    try:
        new = thread is None and not resume
        session = await harness.session(thread_id=thread, new=new, create=not resume)
    except ConfigError as error:
        if not resume:
            raise
        raise UserError("There is nothing to continue here.") from error
    if mode is not None:
        await session.modes.switch(mode)
    return session
