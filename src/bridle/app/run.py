"""A run as its starter sees it: events while it works, a result when it rests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from bridle.types.events import AnyEvent, RunEnded, RunPaused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator
    from types import TracebackType

    from bridle.app.results import RunResult
    from bridle.app.waiting import Runs
    from bridle.journal.feed import Feed
    from bridle.types.ops import Send


class Run:
    """One run. Await it for its result, or iterate over `events()` and then look at `result`."""

    def __init__(self, runs: Runs, op: Send) -> None:
        self.id = op.run_id
        self._runs = runs
        self._op = op
        self._feed: Feed | None = None
        self._admitted = anyio.Lock()
        self._result: RunResult[Any] | None = None

    @property
    def result(self) -> RunResult[Any]:
        """The result, once the run has come to rest."""
        if self._result is None:
            raise RuntimeError("The run is still going on; await it first.")
        return self._result

    def __await__(self) -> Generator[Any, None, RunResult[Any]]:
        return self._finish().__await__()

    async def __aenter__(self) -> Run:
        await self.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            with anyio.CancelScope(shield=True):
                await self._runs.interrupt(self.id)
        await self._finish()

    async def begin(self) -> None:
        """Admit the input; done once."""
        async with self._admitted:
            if self._feed is None:
                self._feed = await self._runs.feed()
                try:
                    await self._runs.admit(self._op)
                except BaseException:
                    self._feed.close()
                    self._feed = None
                    raise

    async def events(self) -> AsyncIterator[AnyEvent]:
        """Yield the run's events until it ends or rests."""
        await self.begin()
        assert self._feed is not None
        feed = self._feed
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._close_when_rested, feed)
            async for event in feed.events():
                if event.run_id == self.id:
                    yield event
                if isinstance(event, RunEnded) and event.run_id == self.id:
                    feed.close()
                if isinstance(event, RunPaused):
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        await self._finish()

    async def _close_when_rested(self, feed: Feed) -> None:
        await self._runs.rested(self.id)
        feed.close()

    async def _finish(self) -> RunResult[Any]:
        await self.begin()
        if self._result is None or self._result.reason == "awaiting":
            self._result = await self._runs.wait(self.id)
        if self._feed is not None:
            self._feed.close()
        return self._result
