"""A thread that owns one connection and runs jobs on it in order.

The writing lane groups the jobs that are waiting into one transaction, so many tasks share one
sync. A job that fails does so alone: the others are run again without it, so a job of this lane
may run more than once and only writes to the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from bridle.errors import StoreError
from bridle.types.base import Moving

if TYPE_CHECKING:
    from bridle.store.sqlite.opening import Database

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

GROUP_LIMIT = 256


class _Job(Moving):
    work: Work[Any]
    durable: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Lane:
    """Runs work on a connection in a thread of its own; `transactional` groups it into commits."""

    def __init__(
        self,
        database: Database,
        *,
        name: str,
        transactional: bool,
    ) -> None:
        self._database = database
        self._transactional = transactional
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._started = False
        self._closed = False
        self._synchronous = ""
        self.syncs = 0

    async def run(self, work: Work[T], *, durable: bool = False) -> T:
        """Run work and wait for it; once queued it is never cancelled half way."""
        if self._closed:
            raise StoreError("The store is closed.")
        if not self._started:
            self._started = True
            self._thread.start()
        loop = asyncio.get_running_loop()
        job = _Job(work, durable, loop, loop.create_future())
        self._jobs.put(job)
        with anyio.CancelScope(shield=True):
            result: T = await job.future
        return result

    async def close(self) -> None:
        """Finish what is queued and end the thread; what comes later is refused."""
        self._closed = True
        if self._started:
            self._jobs.put(None)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._thread.join)

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while True:
            group, ended = self._next_group()
            if group:
                try:
                    connection = connection or self._database.connect()
                except Exception as error:  # noqa: BLE001 - handed to the waiting tasks
                    self._fail(group, error)
                else:
                    self._run_group(connection, group)
                _deliver(group)
            if ended:
                if connection is not None:
                    connection.close()
                return

    def _next_group(self) -> tuple[list[_Job], bool]:
        job = self._jobs.get()
        group: list[_Job] = []
        while job is not None:
            group.append(job)
            if not self._transactional or len(group) >= GROUP_LIMIT:
                return group, False
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return group, False
        return group, True

    def _run_group(self, connection: sqlite3.Connection, group: list[_Job]) -> None:
        if not self._transactional:
            for job in group:
                self._attempt(job, connection)
            return
        left = list(group)
        while left:
            try:
                refused = self._commit(connection, left)
            except Exception as error:  # noqa: BLE001 - handed to the waiting tasks
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("rollback")
                self._fail(left, error)
                return
            if refused is None:
                return
            del left[refused]  # it fails alone; the others begin again without it

    def _commit(self, connection: sqlite3.Connection, group: list[_Job]) -> int | None:
        """Run jobs in one transaction; when one fails, tell which, with nothing written."""
        self._set_sync(connection, full=any(job.durable for job in group))
        connection.execute("begin immediate")
        for place, job in enumerate(group):
            self._attempt(job, connection)
            if job.error is not None:
                connection.execute("rollback")
                return place
        connection.execute("commit")
        return None

    def _set_sync(self, connection: sqlite3.Connection, *, full: bool) -> None:
        wanted = "full" if full else "normal"
        if wanted != self._synchronous:
            connection.execute(f"pragma synchronous = {wanted}")
            self._synchronous = wanted
        if full:
            self.syncs += 1

    def _attempt(self, job: _Job, connection: sqlite3.Connection) -> None:
        try:
            job.result = job.work(connection)
        except Exception as error:  # noqa: BLE001 - handed to the waiting task
            job.error = self._translated(error)

    def _fail(self, group: list[_Job], error: Exception) -> None:
        for job in group:
            job.result = None
            job.error = self._translated(error)

    def _translated(self, error: Exception) -> BaseException:
        if isinstance(error, sqlite3.Error):
            translated = self._database.failure(error)
            translated.__cause__ = error
            return translated
        return error


def _deliver(group: list[_Job]) -> None:
    """Tell the waiting tasks, each on its loop; usually all share one, which is woken once."""
    waiting: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in group:
        waiting.setdefault(job.loop, []).append(job)
    for loop, jobs in waiting.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, jobs)


def _settle(jobs: list[_Job]) -> None:
    for job in jobs:
        job.settle()
