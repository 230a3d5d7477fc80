"""Record, commit, publish.

`Journal` is how anybody writes to a thread's log from outside a drain. `ThreadLog` is the drain's
own handle: it knows the state of the thread up to the last event, and every record it writes is
checked against that state and against the drain's lease.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import anyio
import msgspec

from bridle.errors import HeadMoved
from bridle.journal.children import told
from bridle.journal.redact import NOTHING_HIDDEN, Redactor
from bridle.journal.state import PASSING, ThreadState
from bridle.ports.store import Append, Batch, Reservation, Spent, Store
from bridle.types.base import Fixed, Moving
from bridle.types.collecting import collector_paused
from bridle.types.events import (
    AnyLiveEvent,
    ApprovalAnswered,
    DurableEvent,
    Event,
    InputAdmitted,
    PermissionDecided,
    RunEnded,
    RunPaused,
    ToolCalled,
    ToolReturned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.journal.bus import Bus
    from bridle.types.ledger import Account
    from bridle.types.ops import Op
    from bridle.types.threads import Lease


class Journal(Fixed, frozen=True, kw_only=True):
    """The way into every log: commit first, then tell the bus."""

    store: Store
    bus: Bus
    redactor: Redactor = NOTHING_HIDDEN
    states: WeakValueDictionary[str, ThreadState] = msgspec.field(
        default_factory=WeakValueDictionary
    )

    async def write(self, batch: Batch) -> tuple[DurableEvent, ...]:
        """Commit a batch, without the secrets that may be in it, and publish its events."""
        appends = tuple(
            msgspec.structs.replace(append, events=self.redactor.value(append.events))
            for append in batch.appends
        )
        batch = msgspec.structs.replace(batch, appends=appends)
        events = await self.store.commit(batch)
        await self.publish(events)
        return events

    async def publish(self, events: Sequence[DurableEvent]) -> None:
        """Tell the bus what was committed, after what others committed before it."""
        for event in events:
            last = self.bus.last(event.thread_id)
            if last is not None and event.seq > last + 1:
                limit = event.seq - last - 1
                self.bus.publish(await self.store.events(event.thread_id, after=last, limit=limit))
            self.bus.publish((event,))

    async def append(self, thread_id: str, *events: Event) -> tuple[DurableEvent, ...]:
        """Append events that are written from outside a drain."""
        return await self.write(Batch(appends=(Append(thread_id=thread_id, events=events),)))

    async def change(self, thread_id: str, make: Callable[[ThreadState], Event | None]) -> None:
        """Append the event that follows from the thread's latest state, if one does.

        Whatever is written meanwhile, also by other processes, is looked at first.
        """
        while True:
            state = await self.fold(thread_id)
            event = make(state)
            if event is None:
                return
            append = Append(thread_id=thread_id, events=(event,), expect=state.seq)
            try:
                await self.write(Batch(appends=(append,)))
            except HeadMoved:
                continue
            return

    async def admit(
        self,
        thread_id: str,
        op: Op,
        *,
        input_id: str,
        expect: int | None = None,
        epoch: int | None = None,
    ) -> bool:
        """Put an op into a thread's inbox; the same id twice is the same input.

        It is refused, as any append, where the thread is not as the writer believes.
        """
        admitted = InputAdmitted(input_id=input_id, op=op)
        append = Append(thread_id=thread_id, events=(admitted,), expect=expect, epoch=epoch)
        return bool(await self.write(Batch(appends=(append,), durable=True)))

    def live(self, event: AnyLiveEvent) -> None:
        """Publish something that is not stored."""
        self.bus.publish((event,))

    async def fold(self, thread_id: str) -> ThreadState:
        """The folded state of a thread, shared by all who look at it here, up to the last event."""
        state = self.states.get(thread_id)
        if state is None:
            history = await self.store.history(thread_id, passing=PASSING)
            state = self.states.setdefault(thread_id, ThreadState(thread_id))
            with collector_paused():
                state.take(history)
            self.bus.begin(thread_id, state.seq)
        await self.catch_up(state)
        return state

    async def catch_up(self, state: ThreadState) -> None:
        """Fold in what was appended meanwhile, and tell the bus."""
        news = await self.store.events(state.id, after=state.seq)
        for event in news:
            if event.seq == state.seq + 1:  # another task may have folded it first
                state.apply(event)
        await self.publish(news)


class Extra(Fixed, frozen=True, kw_only=True):
    """What goes into the transaction beside the thread's own events."""

    appends: tuple[Append, ...] = ()
    blobs: tuple[bytes, ...] = ()
    accounts: tuple[Account, ...] = ()
    reserve: Reservation | None = None
    spent: tuple[Spent, ...] = ()


NOTHING = Extra()


class ThreadLog(Moving, kw_only=True):
    """A drain's handle on its thread. Records are written one after the other.

    The state is shared with the sessions that look at the thread and may be ahead of the drain;
    `basis` is the last event that the drain has taken into account, and what it decides is only
    recorded while that is still the last one.
    """

    journal: Journal
    lease: Lease
    state: ThreadState
    basis: int = 0
    _lock: anyio.Lock = msgspec.field(default_factory=anyio.Lock)

    @property
    def is_current(self) -> bool:
        """Whether the drain has taken into account all that is known of in this process."""
        return self.basis == self.state.seq == self.journal.bus.last(self.state.id)

    def __post_init__(self) -> None:
        self.basis = self.state.seq

    async def decide(self, *events: Event, extra: Extra = NOTHING) -> None:
        """Record what follows from the present state.

        Raises `HeadMoved`, with the news folded in, when somebody appended since: then what was
        decided may be wrong and must be decided again.
        """
        basis = self.basis
        async with self._lock:
            await self._commit(events, extra, basis)

    async def result(self, *events: Event, extra: Extra = NOTHING) -> None:
        """Record what came from outside and stays true whatever else was appended."""
        async with self._lock:
            while True:
                try:
                    await self._commit(events, extra, self.basis)
                except HeadMoved:
                    continue
                return

    async def refresh(self) -> None:
        """Fold in what others appended."""
        async with self._lock:
            await self._catch_up()

    async def _commit(self, events: Sequence[Event], extra: Extra, basis: int) -> None:
        own = Append(
            thread_id=self.state.id,
            events=tuple(events),
            expect=basis,
            epoch=self.lease.epoch,
        )
        batch = Batch(
            appends=(own, *told(self.state.thread, events), *extra.appends),
            blobs=extra.blobs,
            accounts=extra.accounts,
            reserve=extra.reserve,
            spent=extra.spent,
            durable=self._durable(events),
        )
        with anyio.CancelScope(shield=True):  # a commit and its fold are one
            try:
                written = await self.journal.store.commit(batch)
            except HeadMoved:
                await self._catch_up()
                raise
            for event in written:
                if event.thread_id == self.state.id and event.seq == self.state.seq + 1:
                    self.state.apply(event)
            self.basis = self.state.seq
            await self.journal.publish(written)

    async def _catch_up(self) -> None:
        await self.journal.catch_up(self.state)
        self.basis = self.state.seq

    def _durable(self, events: Sequence[Event]) -> bool:
        """Sync before an effect may follow, and before anybody is told that a run rests."""
        return any(self._unlocks_effect(event) for event in events)

    def _unlocks_effect(self, event: Event) -> bool:
        match event:
            case RunPaused() | RunEnded() | ApprovalAnswered(approved=True):
                return True
            case ToolCalled(facts=facts):
                return facts.effect != "safe"
            case PermissionDecided():
                run = self.state.run
                return run is not None and any(
                    call.call.id == event.call_id and call.facts.effect != "safe"
                    for call in run.held_calls
                )
            case ToolReturned():
                run = self.state.run
                return run is not None and any(
                    call.facts.effect != "safe" and not call.waiting
                    for call in run.open_calls
                    if call.call.id != event.call_id
                )
            case _:
                return False
