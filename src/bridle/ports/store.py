"""The store: one log per thread, its projections, the ledger, and leases on threads.

Everything in one `Batch` is committed in one transaction or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bridle.types.events import DurableEvent, Event
from bridle.types.ledger import Account

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bridle.types.messages import Message
    from bridle.types.runs import PendingRow, RunPlace, RunRow
    from bridle.types.threads import Lease, Owner, Thread


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """Events for the end of one thread's log.

    `expect` is the seq that the writer believes to be the last one, `epoch` its lease; the commit
    is refused with `HeadMoved` or `LeaseLost` when either is out of date. An admission whose
    input id is already in the inbox changes nothing.
    """

    thread_id: str
    events: tuple[Event, ...]
    expect: int | None = None
    epoch: int | None = None


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """Room to set aside on an account and all above it; `BudgetBlocked` when there is none."""

    id: str
    account: str
    tokens: int
    usd: float


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What a reservation really cost; settling twice changes nothing."""

    reservation: str
    tokens: int
    usd: float


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What is committed together; `durable` asks for a sync to the disk first."""

    appends: tuple[Append, ...] = ()
    blobs: tuple[bytes, ...] = ()
    accounts: tuple[Account, ...] = ()
    reserve: Reservation | None = None
    spent: tuple[Spent, ...] = ()
    durable: bool = False


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a thread's log."""

    seq: int
    hash: str


class Store(Protocol):
    """Durable state. All methods may be called from any task of one event loop."""

    async def commit(self, batch: Batch) -> tuple[DurableEvent, ...]:
        """Write a batch; returns the events as they stand in the log, stamped and in order."""
        ...

    async def events(
        self, thread_id: str, *, after: int = 0, limit: int | None = None
    ) -> list[DurableEvent]:
        """Read a thread's log in order."""
        ...

    async def history(self, thread_id: str, *, passing: Sequence[str]) -> list[DurableEvent]:
        """Read a thread's log for a fold: events of the types in `passing` only from the last but
        one message on.
        """
        ...

    async def records(self, thread_id: str) -> list[tuple[int, str, bytes]]:
        """Read a thread's log as it is stored: seq, hash, body."""
        ...

    async def head(self, thread_id: str) -> Head:
        """Tell where a thread's log ends; seq 0 when it has no events."""
        ...

    async def heads(self, thread_ids: Collection[str]) -> dict[str, int]:
        """Tell the seq of the last event of many threads; those that do not exist are left out."""
        ...

    async def blob(self, name: str) -> bytes | None:
        """Read a blob by its hash."""
        ...

    async def thread(self, thread_id: str) -> Thread | None:
        """Read one thread."""
        ...

    async def threads(
        self, *, resource_id: str | None = None, hidden: bool = False
    ) -> list[Thread]:
        """List threads, newest first."""
        ...

    async def first_messages(self, thread_ids: Collection[str]) -> dict[str, Message]:
        """Read the user's first message of many threads at once; those without are left out."""
        ...

    async def children(self, thread_id: str) -> list[str]:
        """List the ids of all descendants of a thread."""
        ...

    async def settings(self, thread_id: str) -> dict[str, Any]:
        """Read a thread's settings."""
        ...

    async def runs(
        self, *, thread_id: str | None = None, resource_id: str | None = None, limit: int = 100
    ) -> list[RunRow]:
        """List runs, newest first."""
        ...

    async def run(self, run_id: str) -> RunPlace | None:
        """Read one run and where it begins in its thread's log."""
        ...

    async def find_runs(self, suffix: str) -> list[RunRow]:
        """Find runs whose id ends with this."""
        ...

    async def pending(self, *, threads: Sequence[str] | None = None) -> list[PendingRow]:
        """List what waits for an answer, oldest first."""
        ...

    async def unfinished(self, threads: Sequence[str] | None = None) -> list[str]:
        """List threads with input that nobody dealt with, or with a run that is not parked."""
        ...

    async def accounts(self, account_id: str) -> list[Account]:
        """Read an account and all above it, innermost first."""
        ...

    async def take_lease(
        self, thread_id: str, owner: Owner, *, seconds: float
    ) -> tuple[Lease, DurableEvent]:
        """Take the right to drain a thread; raises `ThreadInUse` while a live owner has it."""
        ...

    async def renew_lease(self, lease: Lease, *, seconds: float) -> Lease:
        """Keep it; raises `LeaseLost` when somebody else has it."""
        ...

    async def release_lease(self, lease: Lease, *, expect: int) -> None:
        """Give it back, unless the log moved (`HeadMoved`): then there is more to do."""
        ...

    async def lease(self, thread_id: str) -> Lease | None:
        """Tell who drains a thread now."""
        ...

    async def version(self) -> int:
        """A number that changes when another process commits (and may when this one does)."""
        ...

    async def close(self) -> None:
        """Finish what is under way and close."""
        ...
