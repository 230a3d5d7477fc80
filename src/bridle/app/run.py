"""A run as its starter sees it: events while it works, a result when it rests."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import anyio

from bridle.errors import BridleError
from bridle.types.events import AnyEvent, RunEnded, RunPaused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator
    from types import TracebackType

    from bridle.app.results import RunResult
    from bridle.app.waiting import Runs
    from bridle.journal.feed import Feed
    from bridle.types.ops import Send

log = logging.getLogger("bridle.run")


class Run:
    """One run. Await it for its result, or iterate over `events()` and then look at `result`."""

    def __init__(self, runs: Runs, op: Send) -> None:
        self.id = op.run_id
        self._runs = runs
        self._op = op
        self._feed: Feed | None = None
        self._beginning = anyio.Lock()
        self._begun = False
        self._refused: BridleError | None = None
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
        await self._watch()
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
        """Return when the input is admitted; done once. Raises what refused it."""
        async with self._beginning:
            if self._refused is not None:
                raise self._refused
            if not self._begun:
                await self._runs.admit(self._op)
                self._begun = True

    async def try_begin(self) -> None:
        """Begin for nobody in particular; a refusal is kept for whoever asks for the result."""
        try:
            await self.begin()
        except BridleError as error:
            log.info("Run %s was refused: %s", self.id, error)
            self._refused = error

    async def _watch(self) -> Feed:
        """Listen from the run's beginning, and begin."""
        if self._feed is None:
            self._feed = await self._runs.feed(self.id)
        try:
            await self.begin()
        except BaseException:
            self._feed.close()
            self._feed = None
            raise
        return self._feed

    async def events(self) -> AsyncIterator[AnyEvent]:
        """Yield the run's events until it ends or rests."""
        feed = await self._watch()
        stop = self._runs.when_rested(self.id, feed.close)
        try:  # no task group here: whoever iterates may stop anywhere, in any task
            async for event in feed.events():
                if event.run_id == self.id:
                    yield event
                if isinstance(event, RunEnded) and event.run_id == self.id:
                    feed.close()
                if isinstance(event, RunPaused):
                    await anyio.lowlevel.checkpoint()
        finally:
            stop()
        await self._finish()

    async def _finish(self) -> RunResult[Any]:
        await self.begin()
        if self._result is None or self._result.reason == "awaiting":
            self._result = await self._runs.wait(self.id)
        if self._feed is not None:
            self._feed.close()
        return self._result
