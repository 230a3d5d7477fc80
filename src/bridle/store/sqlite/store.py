"""The Store port on SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.ports.clock import Clock, iso
from bridle.ports.store import Batch, Head
from bridle.store.owner import owner_is_alive
from bridle.store.sqlite import leases, read, write
from bridle.store.sqlite.lane import Lane
from bridle.store.sqlite.opening import Database
from bridle.types.chain import GENESIS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from bridle.types.events import DurableEvent
    from bridle.types.ledger import Account
    from bridle.types.messages import Message
    from bridle.types.runs import PendingRow, RunPlace, RunRow
    from bridle.types.threads import Lease, Owner, Thread


class SqliteStore:
    """One database: a file that many processes share, or memory for this process alone.

    A writing lane groups commits; a reading lane answers queries from its own connection, so a
    long read never delays a commit. In memory both are the same lane. `notices` tells what was
    dropped when a damaged file was opened.
    """

    def __init__(self, path: Path | None, *, clock: Clock) -> None:
        self._clock = clock
        self._path = path
        database = Database(path, clock)
        self.notices = database.notices
        self._writer = Lane(database, name="bridle-store-writer", transactional=True)
        self._reader = (
            self._writer
            if path is None
            else Lane(database, name="bridle-store-reader", transactional=False)
        )

    @property
    def syncs(self) -> int:
        """How many commits were synced to the disk before they were acknowledged."""
        return self._writer.syncs

    async def commit(self, batch: Batch) -> tuple[DurableEvent, ...]:
        """Write a batch in one transaction."""
        at = iso(self._clock.now())
        return await self._writer.run(lambda db: write.commit(db, batch, at), durable=batch.durable)

    async def events(
        self, thread_id: str, *, after: int = 0, limit: int | None = None
    ) -> list[DurableEvent]:
        """Read a log in order."""
        return await self._reader.run(lambda db: read.events(db, thread_id, after, limit))

    async def history(self, thread_id: str, *, passing: Sequence[str]) -> list[DurableEvent]:
        """Read a log for a fold."""
        return await self._reader.run(lambda db: read.history(db, thread_id, passing))

    async def records(self, thread_id: str) -> list[tuple[int, str, bytes]]:
        """Read a log as it is stored."""
        return await self._reader.run(lambda db: read.records(db, thread_id))

    async def head(self, thread_id: str) -> Head:
        """Tell where a log ends."""
        sql = "select head_seq, head_hash from threads where id = ?"
        row = await self._reader.run(lambda db: db.execute(sql, (thread_id,)).fetchone())
        return Head(seq=row[0], hash=row[1]) if row else Head(seq=0, hash=GENESIS)

    async def heads(self, thread_ids: Collection[str]) -> dict[str, int]:
        """Tell where many logs end."""
        return await self._reader.run(lambda db: read.heads(db, thread_ids))

    async def blob(self, name: str) -> bytes | None:
        """Read a blob by its hash."""
        sql = "select cast(body as blob) from blobs where hash = ?"
        row = await self._reader.run(lambda db: db.execute(sql, (name,)).fetchone())
        return None if row is None else bytes(row[0])

    async def thread(self, thread_id: str) -> Thread | None:
        """Read one thread."""
        return await self._reader.run(lambda db: read.thread(db, thread_id))

    async def threads(
        self, *, resource_id: str | None = None, hidden: bool = False
    ) -> list[Thread]:
        """List threads, newest first."""
        return await self._reader.run(lambda db: read.threads(db, resource_id, hidden))

    async def first_messages(self, thread_ids: Collection[str]) -> dict[str, Message]:
        """Read the user's first message of many threads at once."""
        return await self._reader.run(lambda db: read.first_messages(db, thread_ids))

    async def children(self, thread_id: str) -> list[str]:
        """List all descendants of a thread."""
        return await self._reader.run(lambda db: read.children(db, thread_id))

    async def settings(self, thread_id: str) -> dict[str, Any]:
        """Read a thread's settings."""
        return await self._reader.run(lambda db: read.settings(db, thread_id))

    async def runs(
        self, *, thread_id: str | None = None, resource_id: str | None = None, limit: int = 100
    ) -> list[RunRow]:
        """List runs, newest first."""
        return await self._reader.run(lambda db: read.runs(db, thread_id, resource_id, limit))

    async def run(self, run_id: str) -> RunPlace | None:
        """Read one run and where it begins."""
        return await self._reader.run(lambda db: read.run(db, run_id))

    async def find_runs(self, suffix: str) -> list[RunRow]:
        """Find runs by the end of their id."""
        return await self._reader.run(lambda db: read.find_runs(db, suffix))

    async def pending(self, *, threads: Sequence[str] | None = None) -> list[PendingRow]:
        """List what waits for an answer."""
        return await self._reader.run(lambda db: read.pending(db, threads))

    async def unfinished(self, threads: Sequence[str] | None = None) -> list[str]:
        """List threads that a drain could bring further."""
        return await self._reader.run(lambda db: read.unfinished(db, threads))

    async def accounts(self, account_id: str) -> list[Account]:
        """Read an account and all above it."""
        return await self._reader.run(lambda db: read.accounts(db, account_id))

    async def take_lease(
        self, thread_id: str, owner: Owner, *, seconds: float
    ) -> tuple[Lease, DurableEvent]:
        """Take the right to drain a thread and record it."""
        now = self._clock.now()
        at = iso(now)

        def work(db: sqlite3.Connection) -> tuple[Lease, DurableEvent]:
            lease, append = leases.take(
                db, thread_id, owner, now=now, at=at, seconds=seconds, alive=owner_is_alive
            )
            (taken,) = write.commit(db, Batch(appends=(append,)), at)
            return lease, taken

        return await self._writer.run(work)

    async def renew_lease(self, lease: Lease, *, seconds: float) -> Lease:
        """Keep a lease."""
        now = self._clock.now()
        return await self._writer.run(lambda db: leases.renew(db, lease, now=now, seconds=seconds))

    async def release_lease(self, lease: Lease, *, expect: int) -> None:
        """Give a lease back."""
        await self._writer.run(lambda db: leases.release(db, lease, expect=expect))

    async def lease(self, thread_id: str) -> Lease | None:
        """Tell who drains a thread, if anybody who may still live."""
        found = await self._reader.run(lambda db: leases.read(db, thread_id))
        if found is None or found.expires <= self._clock.now():
            return None
        return None if owner_is_alive(found.owner) is False else found

    async def version(self) -> int:
        """A number that changes when another connection commits; memory has no other."""
        if self._path is None:
            return 0
        row = await self._reader.run(lambda db: db.execute("pragma data_version").fetchone())
        return int(row[0])

    async def close(self) -> None:
        """Finish what is queued and close."""
        await self._writer.close()
        if self._reader is not self._writer:
            await self._reader.close()
