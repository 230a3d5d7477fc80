"""Browsers of a harness: one for each thread that opened a page, ended with its run."""

from __future__ import annotations

import itertools
import logging
import shutil
import socket
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from bridle.errors import RunError, ToolError
from bridle.sandbox.groups import only
from bridle.sandbox.proxy import Gatekeeper, resolve_name, serve
from bridle.tools.browser.cdp import Connection
from bridle.tools.browser.hosts import PageHosts
from bridle.tools.browser.launch import command, confined, find_chromium
from bridle.tools.browser.page import Page
from bridle.types.events import LeaseTaken, RunEnded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from anyio.abc import TaskGroup, TaskStatus

    from bridle.ports.processes import Process, Stream
    from bridle.ports.sandbox import Sandbox
    from bridle.ports.tools import CallScope
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.web.reach import Reach
    from bridle.types.events import AnyEvent

log = logging.getLogger("bridle.browser")
MAX_BROWSERS = 4
START = 45.0
FAREWELL = 2.0
COMPLAINTS = 2000
_COUNT = itertools.count(1)


class Browser:
    """A Chromium and its one page. Calls of a thread use it one after the other."""

    def __init__(self, scope: CallScope, hosts: PageHosts) -> None:
        self.thread_id = scope.thread_id
        self.run_id = scope.run_id
        self.owner = scope.owner
        self.hosts = hosts
        self.using = anyio.Lock()
        self.ended = False
        self._life = anyio.CancelScope()
        self._page: Page | None = None
        self._complaints = b""

    @property
    def page(self) -> Page:
        """The page, once the browser runs."""
        if self._page is None or self.ended:
            raise ToolError(
                "The browser is gone.", hint="Call navigate to start it.", kind="browser_gone"
            )
        return self._page

    async def live(
        self, place: Workplace, environ: Mapping[str, str], *, task_status: TaskStatus[None]
    ) -> None:
        """Be the browser's task: start it, listen to it, and see it end."""
        try:
            with self._life:
                program = find_chromium(environ)
                async with _running(program, place, self.hosts) as process:
                    await self._serve(process, task_status)
        except (BaseExceptionGroup, ToolError, RunError, OSError) as problem:
            error = only(problem) if isinstance(problem, BaseExceptionGroup) else problem
            if self._page is None or not isinstance(error, ToolError | RunError | OSError):
                raise error from None
            log.warning("A browser was lost: %s", error)  # its next call says so
        finally:
            self.ended = True

    async def _serve(self, process: Process, task_status: TaskStatus[None]) -> None:
        connection = Connection(process.send)

        async def take(stream: Stream, data: bytes) -> None:
            if stream == "stdout":
                connection.feed(data)
            else:
                self._complaints = (self._complaints + data)[-COMPLAINTS:]

        async def listen() -> None:
            await process.drain(take)
            connection.close("its process ended")
            silent.set()

        silent = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            page = Page(connection, tasks)
            try:
                with anyio.fail_after(START):
                    await page.attach()
            except (ToolError, TimeoutError) as error:
                with anyio.move_on_after(FAREWELL):  # what it says before it ends is the reason
                    await silent.wait()
                raise ToolError(
                    f"Chromium did not start: {error}\n{self._said()}",
                    hint="Tell the user. `chromium --headless --dump-dom about:blank` shows "
                    "whether it works at all; a Chromium from a snap does not in a sandbox.",
                    kind="browser",
                ) from None
            self._page = page
            task_status.started()
            await process.wait()
            connection.close("its process ended")
            tasks.cancel_scope.cancel()

    def _said(self) -> str:
        lines = self._complaints.decode("utf-8", "replace").splitlines()
        return "\n".join(line[:300] for line in lines if "dbus" not in line)[-600:]

    def end(self) -> None:
        """End it, and everything that it started."""
        self.ended = True
        self._life.cancel()


@asynccontextmanager
async def _running(program: str, place: Workplace, hosts: PageHosts) -> AsyncIterator[Process]:
    """The process in its sandbox, with a profile of its own that is removed afterwards."""
    sandbox = confined(place.sandbox, hosts)
    temp = sandbox.policy.temp or "/tmp"
    name = "-".join(("chromium", *Path(temp).parts[-2:], str(next(_COUNT))))
    inside = f"/tmp/{name}" if sandbox.kind == "bubblewrap" else f"{temp}/{name}"
    try:
        async with _proxied(sandbox, hosts) as port:
            argv = command(program, profile=inside, sandbox=sandbox, port=port)
            async with place.processes.open(
                argv,
                sandbox=sandbox,
                cwd=str(place.root),
                env={"HOME": inside},
                stderr="separate",
            ) as process:
                yield process
    finally:
        shutil.rmtree(f"{temp}/{name}", ignore_errors=True)


@asynccontextmanager
async def _proxied(sandbox: Sandbox, hosts: PageHosts) -> AsyncIterator[int | None]:
    """The filtering proxy; a sandbox with a network of its own brings one along."""
    if sandbox.kind == "bubblewrap":
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as ear:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, ear, Gatekeeper(hosts, resolve_name, []))
            yield ear.getsockname()[1]
            tasks.cancel_scope.cancel()


class Browsers:
    """The browsers of a harness, by thread; `tasks` is where they live."""

    def __init__(
        self,
        place: Workplace,
        reach: Reach,
        *,
        environ: Mapping[str, str],
        tasks: Callable[[], TaskGroup],
    ) -> None:
        self._place = place
        self._reach = reach
        self._environ = environ
        self._tasks = tasks
        self._browsers: dict[str, Browser] = {}
        self._starting = anyio.Lock()

    def of(self, scope: CallScope) -> Browser | None:
        """The browser of a call's thread, if there is one."""
        browser = self._browsers.get(scope.thread_id)
        return browser if browser is not None and not browser.ended else None

    async def start(self, scope: CallScope) -> Browser:
        """The browser of a call's thread; it is started where there is none."""
        async with self._starting:
            browser = self.of(scope)
            if browser is not None:
                return browser
            self._browsers = {k: b for k, b in self._browsers.items() if not b.ended}
            if len(self._browsers) >= MAX_BROWSERS:
                raise ToolError(
                    f"{MAX_BROWSERS} browsers are open already.", hint="Wait until a run ends."
                )
            browser = Browser(scope, PageHosts(self._reach, depth=scope.depth))
            await self._tasks().start(
                browser.live, self._place, self._environ, name=f"browser of {scope.thread_id}"
            )
            self._browsers[scope.thread_id] = browser
            return browser

    def hear(self, event: AnyEvent) -> None:
        """End the browser of a run that ends, or that somebody else goes on with."""
        for name, browser in list(self._browsers.items()):
            match event:
                case RunEnded() if event.run_id == browser.run_id:
                    self._browsers.pop(name).end()
                case LeaseTaken() if (
                    event.thread_id == browser.thread_id and event.owner.key != browser.owner
                ):
                    self._browsers.pop(name).end()
                case _:
                    pass
