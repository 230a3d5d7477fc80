"""Waiting for runs: until they end or rest, here or in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from bridle.app.results import RunResult, result_of
from bridle.errors import BridleError, ConfigError
from bridle.journal.feed import Feed
from bridle.runs.summary import RunSummary, summarise, summary_of
from bridle.types.events import AnyEvent, DurableEvent, RunEnded
from bridle.types.ids import run_of_steer
from bridle.types.ops import Interrupt, Send, Steer

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.app.attachment import Attachment
    from bridle.app.run import Run
    from bridle.types.ops import Op
    from bridle.types.runs import PendingRow

FOREIGN_SECONDS = 0.1
"""How often a run that another process works on is looked at, while somebody waits for it."""


class Runs:
    """The runs of the thread that a session is attached to, or of one that it was attached to."""

    def __init__(self, attachment: Attachment, thread_id: str | None = None) -> None:
        self._attachment = attachment
        self._engine = attachment.engine
        self._journal = attachment.journal
        self._thread_id = thread_id

    @property
    def thread_id(self) -> str:
        """The id of the thread."""
        return self._thread_id or self._attachment.thread.id

    def here(self) -> Runs:
        """The runs of the present thread, wherever the session goes."""
        return Runs(self._attachment, self.thread_id)

    def start(self, run: Run) -> None:
        """Let a run begin by itself, before whatever the session does next."""
        starting, tasks = self._attachment.inbox.starting, self._engine.tasks

        async def begin() -> None:
            await run.try_begin()
            starting.pop(run.id, None)

        if not tasks.cancel_scope.cancel_called:  # else everything here is ending
            starting[run.id] = begin
            tasks.start_soon(begin, name=f"begin {run.id}")

    async def wait(self, run_id: str) -> RunResult[Any]:
        """Wait until a run has ended or rests, and return its result."""
        with self._engine.waiters:
            await self._attachment.inbox.started()
            place = await self._journal.store.run(run_id)
            if place is not None and place.row.thread_id != self.thread_id:
                return await Runs(self._attachment, place.row.thread_id).wait(run_id)
            await self.rested(run_id)
            return await self._result(run_id)

    async def _result(self, run_id: str) -> RunResult[Any]:
        place = await self._journal.store.run(run_id)
        if place is None and not await self._queued(run_id):
            raise ConfigError(
                f"There is no run {run_id} in thread {self.thread_id}. If it was queued, a restart "
                "of the run before it took it away."
            )
        summary = await self.summary(run_id) if place else RunSummary(run_id, self.thread_id)
        state = await self._journal.fold(self.thread_id)
        return result_of(summary, await self.pending(), self._engine.blueprint.output(state))

    async def rested(self, run_id: str) -> None:
        """Wait until nothing of the thread is being worked on; raises what stopped it."""
        dispatcher = self._engine.dispatcher
        elsewhere = False
        while True:
            await dispatcher.rested(self.thread_id)
            failure = dispatcher.failures.pop(self.thread_id, None)
            place = await self._journal.store.run(run_id)
            if place is not None and place.row.status != "running":
                return
            known = place is not None or await self._queued(run_id)
            if self._engine.tasks.cancel_scope.cancel_called:
                return  # nobody here will see it end
            if known and await self._drained_elsewhere():
                elsewhere = True
                await anyio.sleep(FOREIGN_SECONDS)
            elif elsewhere:  # whoever worked on it is gone
                elsewhere = False
                dispatcher.wake(self.thread_id)
            elif failure is not None:
                raise failure
            else:
                return

    def when_rested(self, run_id: str, then: Callable[[], None]) -> Callable[[], None]:
        """Call `then` when a run has ended or rests, or cannot go on; returns how to stop."""
        scope, dispatcher, tasks = anyio.CancelScope(), self._engine.dispatcher, self._engine.tasks

        async def look() -> None:
            try:
                with scope:
                    await self.rested(run_id)
            except BridleError as error:  # kept for whoever waits for the result
                dispatcher.failures[self.thread_id] = error
            finally:
                then()

        if tasks.cancel_scope.cancel_called:  # everything here is ending
            then()
        else:
            tasks.start_soon(look, name=f"watch {run_id}")
        return scope.cancel

    async def open_run(self) -> str | None:
        """The id of the run that is going on, parked or waiting to begin."""
        await self._attachment.inbox.started()
        state = await self._journal.fold(self.thread_id)
        if state.run is not None:
            return state.run.run_id
        begun = map(run_begun_by, state.inputs, state.inputs.values())
        return next((run_id for run_id in begun if run_id is not None), None)

    async def _queued(self, run_id: str) -> bool:
        """Whether a run waits to begin."""
        inputs = (await self._journal.fold(self.thread_id)).inputs
        return run_id in map(run_begun_by, inputs, inputs.values())

    async def summary(self, run_id: str) -> RunSummary:
        """What a run has come to: from the fold in memory, or from the log of an older run."""
        state = await self._journal.fold(self.thread_id)
        run = state.run_named(run_id)
        if run is not None:
            return summary_of(run)
        return summarise(run_id, await self.run_events(run_id))

    async def run_events(self, run_id: str) -> list[DurableEvent]:
        """The durable events of a run so far."""
        place = await self._journal.store.run(run_id)
        if place is None:
            return []
        after = place.start_seq - 1
        events = await self._journal.store.events(place.row.thread_id, after=after)
        return [event for event in events if event.run_id == run_id]

    async def feed(self, run_id: str) -> Feed:
        """A feed of what follows the beginning of a run: now, if it has not begun."""
        head = await self._journal.store.head(self.thread_id)
        place = await self._journal.store.run(run_id)
        feed = Feed(
            store=self._journal.store,
            bus=self._journal.bus,
            thread_id=self.thread_id,
            after=head.seq if place is None else place.start_seq - 1,
        )
        feed.open()
        return feed

    async def admit(self, op: Send) -> None:
        """Admit a run, once, unless another process works on the thread."""
        await self._attachment.inbox.admit_alone(op, self.thread_id, f"{op.run_id}.send")

    async def interrupt(self, run_id: str) -> None:
        """End one run."""
        await self._attachment.inbox.admit(Interrupt(run_id=run_id), self.thread_id)

    async def interrupt_open(self, *, clear: bool) -> str | None:
        """End the open run, if there is one; returns its id."""
        run_id = await self.open_run()
        if run_id is not None:
            await self._attachment.inbox.admit(
                Interrupt(run_id=run_id, clear=clear), self.thread_id
            )
        return run_id

    async def ended(self, run_id: str) -> None:
        """Wait for the end of one run, not for those behind it."""
        over = anyio.Event()

        def hear(event: AnyEvent) -> None:
            if isinstance(event, RunEnded) and event.run_id == run_id:
                over.set()

        unsubscribe = self._journal.bus.subscribe(hear, thread_id=self.thread_id)
        try:
            while True:
                place = await self._journal.store.run(run_id)
                if place is not None and place.row.status == "ended":
                    return
                if (
                    not self._engine.dispatcher.busy(self.thread_id)
                    and not await self._drained_elsewhere()
                ):
                    return
                with anyio.move_on_after(FOREIGN_SECONDS):
                    await over.wait()
        finally:
            unsubscribe()

    async def _drained_elsewhere(self) -> bool:
        return await self._attachment.inbox.held_elsewhere(self.thread_id) is not None

    async def pending(self) -> list[PendingRow]:
        """What waits for an answer in the thread and below it."""
        store = self._journal.store
        tree = [self.thread_id, *await store.children(self.thread_id)]
        return await store.pending(threads=tree)


def run_begun_by(input_id: str, op: Op) -> str | None:
    """The run that an input begins, if it waits until there is none."""
    if isinstance(op, Send):
        return op.run_id
    return run_of_steer(input_id) if isinstance(op, Steer) else None
