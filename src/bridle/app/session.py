"""A session: one live attachment of a user to a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from bridle.app.events import SessionEvents
from bridle.app.results import Pending, RunResult, pending_of, result_of
from bridle.app.run import Run
from bridle.errors import AnswerError, ConfigError, ThreadInUse
from bridle.journal.feed import Feed
from bridle.runs.summary import summarise
from bridle.types.content import Text, UserPart
from bridle.types.events import AnyEvent, DurableEvent, FollowUpQueued, RunEnded
from bridle.types.ops import Approve, Decline, Interrupt, Op, Send, Steer

if TYPE_CHECKING:
    from bridle.app.threads import SessionThreads
    from bridle.journal.recorder import Journal
    from bridle.ports.ids import NewId
    from bridle.types.runs import PendingRow
    from bridle.workers.dispatcher import Dispatcher

Content = str | Sequence[UserPart]

FOREIGN_SECONDS = 0.1
"""How often a run that another process works on is looked at, while somebody waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The running parts of a harness that its sessions share."""

    journal: Journal
    dispatcher: Dispatcher
    new_id: NewId


class Session:
    """Sends input to a thread and answers what it asks; the run goes on by itself."""

    def __init__(self, engine: Engine, threads: SessionThreads) -> None:
        self._engine = engine
        self._journal = engine.journal
        self.threads = threads
        self.events = SessionEvents(engine.journal, threads)

    @property
    def thread_id(self) -> str:
        """The id of the session's thread."""
        return self.threads.current.id

    @property
    def is_running(self) -> bool:
        """Whether anything of the thread is being worked on here."""
        return self._engine.dispatcher.busy(self.thread_id)

    # --- input -----------------------------------------------------------------------------

    def start(
        self,
        content: Content,
        *,
        context: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> Run:
        """Begin a run; await it, or use it as a context manager and watch its events."""
        op = Send(
            run_id=self._engine.new_id("run"),
            parts=_parts(content),
            context=dict(context or {}),
            model=model,
        )
        return Run(self, op)

    async def send(
        self,
        content: Content,
        *,
        context: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> RunResult[Any]:
        """Run to the end, or until the run waits for an answer. A failed model does not raise."""
        return await self.start(content, context=context, model=model)

    async def steer(
        self, content: Content, *, restart: bool = False, context: Mapping[str, Any] | None = None
    ) -> None:
        """Say something to the run in progress; `restart` ends it and its queue first."""
        if restart:
            await self._interrupt_open(clear=True)
        await self._admit(Steer(parts=_parts(content), context=dict(context or {})))

    async def follow_up(self, content: Content, *, context: Mapping[str, Any] | None = None) -> str:
        """Queue a run behind the present one; returns its id."""
        op = Send(
            run_id=self._engine.new_id("run"),
            parts=_parts(content),
            context=dict(context or {}),
            follow_up=True,
        )
        await self._admit(op)
        state = await self._journal.load(self.thread_id)
        waiting = sum(isinstance(op, Send) for op in state.inputs.values())
        if waiting and state.run is not None:
            await self._journal.append(self.thread_id, FollowUpQueued(count=waiting))
        return op.run_id

    async def abort(self) -> None:
        """End the run in progress, also when it is parked; returns when it has ended."""
        run_id = await self._interrupt_open(clear=False)
        if run_id is not None:
            await self._ended(run_id)

    # --- answers ---------------------------------------------------------------------------

    async def approve(self, id: str, args: dict[str, Any] | None = None) -> str:
        """Let a call run, with changed arguments if given; returns the run's id."""
        return await self._answer(id, Approve(id=id, args=args))

    async def decline(self, id: str, reason: str | None = None) -> str:
        """Do not let a call run; the model is told why."""
        return await self._answer(id, Decline(id=id, reason=reason))

    async def always_allow(self, id: str, scope: str = "category") -> str:
        """Let a call run, and more of its kind for the rest of the session."""
        if scope not in ("category", "tool", "pattern"):
            raise AnswerError(f"Unknown scope {scope!r}; have category, tool, pattern.")
        return await self._answer(id, Approve(id=id, always=scope))

    async def list_pending(self) -> tuple[Pending, ...]:
        """What waits for an answer in this thread and below it."""
        return tuple(pending_of(row) for row in await self._pending())

    # --- waiting ---------------------------------------------------------------------------

    async def wait(self, run_id: str) -> RunResult[Any]:
        """Wait until a run has ended or rests, and return its result."""
        await self.rested(run_id)
        store = self._journal.store
        place = await store.run(run_id)
        if place is None:
            waiting = await self._pending()
            if waiting:
                return result_of(summarise(run_id, ()), waiting)
            raise ConfigError(f"There is no run {run_id} in thread {self.thread_id}.")
        return result_of(summarise(run_id, await self.run_events(run_id)), await self._pending())

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
            if place is not None and await self._drained_elsewhere():
                elsewhere = True
                await anyio.sleep(FOREIGN_SECONDS)
            elif elsewhere:  # whoever worked on it is gone
                elsewhere = False
                dispatcher.wake(self.thread_id)
            elif failure is not None:
                raise failure
            else:
                return

    async def _drained_elsewhere(self) -> bool:
        lease = await self._journal.store.lease(self.thread_id)
        return lease is not None and lease.owner != self._engine.dispatcher.drain.owner

    async def resume(self) -> None:
        """Go on with what an earlier process left unfinished."""
        await self._engine.dispatcher.resume(self.thread_id)

    async def open_run(self) -> str | None:
        """The id of the run that is going on, parked or waiting to begin."""
        state = await self._journal.load(self.thread_id)
        if state.run is not None:
            return state.run.run_id
        waiting = [op.run_id for op in state.inputs.values() if isinstance(op, Send)]
        return waiting[0] if waiting else None

    async def run_events(self, run_id: str) -> list[DurableEvent]:
        """The durable events of a run so far."""
        place = await self._journal.store.run(run_id)
        if place is None:
            return []
        after = place.start_seq - 1
        events = await self._journal.store.events(place.row.thread_id, after=after)
        return [event for event in events if event.run_id == run_id]

    # --- for runs --------------------------------------------------------------------------

    async def feed(self) -> Feed:
        """A feed of everything that follows now."""
        head = await self._journal.store.head(self.thread_id)
        feed = Feed(
            store=self._journal.store,
            bus=self._journal.bus,
            thread_id=self.thread_id,
            after=head.seq,
        )
        feed.open()
        return feed

    async def admit_run(self, op: Send) -> None:
        """Admit a run, unless another process works on the thread."""
        lease = await self._journal.store.lease(self.thread_id)
        if lease is not None and lease.owner != self._engine.dispatcher.drain.owner:
            raise ThreadInUse(self.thread_id, str(lease.owner), lease.since)
        await self._admit(op)

    async def interrupt(self, run_id: str) -> None:
        """End one run."""
        await self._admit(Interrupt(run_id=run_id))

    async def _interrupt_open(self, *, clear: bool) -> str | None:
        run_id = await self.open_run()
        if run_id is not None:
            await self._admit(Interrupt(run_id=run_id, clear=clear))
        return run_id

    async def _ended(self, run_id: str) -> None:
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
                if not self.is_running and not await self._drained_elsewhere():
                    return
                with anyio.move_on_after(FOREIGN_SECONDS):
                    await over.wait()
        finally:
            unsubscribe()

    async def _answer(self, pending_id: str, op: Op) -> str:
        rows = [row for row in await self._pending() if row.id == pending_id]
        if not rows:
            raise AnswerError(
                f"Nothing waits for an answer to {pending_id!r}. It was answered, or its run ended."
            )
        await self._journal.admit(rows[0].thread_id, op, input_id=f"{pending_id}.answer")
        return rows[0].run_id

    async def _pending(self) -> list[PendingRow]:
        store = self._journal.store
        tree = [self.thread_id, *await store.children(self.thread_id)]
        return await store.pending(threads=tree)

    async def _admit(self, op: Op) -> None:
        await self._journal.admit(self.thread_id, op, input_id=self._engine.new_id("in"))


def _parts(content: Content) -> tuple[UserPart, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(content)
