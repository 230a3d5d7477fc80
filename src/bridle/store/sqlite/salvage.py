"""Keep what is whole of a damaged database.

The damaged files are set aside, never changed. Every record that follows from the first of its
thread by its hash is written to a new database, byte for byte, and all rows that follow from the
log are made anew. What could not be kept is told.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from bridle.errors import StoreError
from bridle.ports.store import Reservation
from bridle.store.projections import project
from bridle.store.sqlite import write
from bridle.store.sqlite.pages import Pages, read_pages, rows
from bridle.types.base import Moving
from bridle.types.chain import GENESIS, digest, link
from bridle.types.events import (
    BudgetReserved,
    BudgetSettled,
    DurableEvent,
    LeaseTaken,
    RunStarted,
    ThreadCreated,
    decode_event,
)
from bridle.types.ledger import Account
from bridle.types.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Record = tuple[str, bytes]
"""The hash and the body of an event."""

HASH_LENGTH = 64
SIDE_FILES = ("", "-wal", "-shm")


class Kept(Moving):
    """What a damaged database still holds, and how much of it does not fit together."""

    logs: dict[str, list[Record]] = msgspec.field(default_factory=dict)
    blobs: dict[str, bytes] = msgspec.field(default_factory=dict)
    dropped: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def events(self) -> int:
        """How many records are kept."""
        return sum(len(log) for log in self.logs.values())

    def report(self, path: Path, aside: Path, why: str) -> str:
        """Say in a few lines what happened and what is gone."""
        lines = [
            f"The store {path} is damaged ({why}). It was set aside as {aside.name}; "
            f"{counted(self.events, 'event')} of {counted(len(self.logs), 'thread')} were kept.",
        ]
        for name, lost in sorted(self.dropped.items()):
            kept = len(self.logs.get(name, ()))
            lines.append(f"  {name}: kept up to event {kept}, {lost} later records dropped")
        if not self.dropped:
            lines.append("  What the damage destroyed altogether cannot be counted.")
        return "\n".join(lines)


@contextlib.contextmanager
def salvaging(path: Path) -> Iterator[None]:
    """One process salvages; the others wait and look again."""
    lock = path.with_name(f"{path.name}.salvage-lock")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def salvage(path: Path, why: str, *, stamp: str, create: Callable[[Path], None]) -> str:
    """Put a new database in the place of a damaged one; returns the report.

    `create` makes an empty database with its tables. A file that holds no record of ours is left
    alone: it may be anything.
    """
    kept = collect(*read_pages(path))
    if not kept.logs:
        raise StoreError(
            f"The store {path} cannot be read ({why}) and holds no complete record. Move it away "
            "to begin with an empty one, or name another store."
        )
    fresh = path.with_name(f"{path.name}.salvaged")
    for suffix in SIDE_FILES:
        fresh.with_name(fresh.name + suffix).unlink(missing_ok=True)
    create(fresh)
    _fill(fresh, kept)
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for suffix in reversed(SIDE_FILES):  # the database last: until then nothing has changed
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    fresh.replace(path)
    _sync(path.parent)
    return kept.report(path, aside, why)


def finish(path: Path) -> None:
    """Finish a salvage that was killed between setting the old file aside and placing the new."""
    fresh = path.with_name(f"{path.name}.salvaged")
    if not path.exists() and fresh.exists() and any(path.parent.glob(f"{path.name}.damaged-*")):
        fresh.replace(path)


def collect(pages: Pages, size: int) -> Kept:
    """Find the records and blobs in the pages of a database, and keep what follows from itself."""
    found: dict[str, dict[int, set[Record]]] = defaultdict(lambda: defaultdict(set))
    kept = Kept()
    for row in rows(pages, size):
        match row:
            case (str(thread), int(seq), str(), str() | None, str(hashed), bytes(body)):
                if len(hashed) == HASH_LENGTH:
                    found[thread][seq].add((hashed, body))
            case (str(name), bytes(body)) if len(name) == HASH_LENGTH and digest(body) == name:
                kept.blobs[name] = body
            case _:
                pass
    for thread, records in found.items():
        log = _follow(thread, records)
        if log:
            kept.logs[thread] = log
        if len(log) < len(records):
            kept.dropped[thread] = len(records) - len(log)
    return kept


def _follow(thread: str, records: dict[int, set[Record]]) -> list[Record]:
    """The longest run of records from the first one, each bound to the one before."""
    log: list[Record] = []
    head = GENESIS
    while True:
        following = [
            (hashed, body)
            for hashed, body in records.get(len(log) + 1, ())
            if link(head, body) == hashed and _reads(thread, len(log) + 1, body)
        ]
        if not following:
            return log
        log.append(following[0])
        head = following[0][0]


def _reads(thread: str, seq: int, body: bytes) -> bool:
    try:
        event = decode_event(body)
    except (msgspec.DecodeError, RecursionError):
        return False
    return event.thread_id == thread and event.seq == seq


def _fill(path: Path, kept: Kept) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("pragma synchronous = full")
        db.execute("begin immediate")
        for name, body in kept.blobs.items():
            db.execute("insert into blobs (hash, body) values (?, ?)", (name, body))
        for thread, log in kept.logs.items():
            _restore_log(db, thread, log)
        events = [decode_event(body) for log in kept.logs.values() for _, body in log]
        restore_ledger(db, events)
        db.execute("commit")
        db.execute("pragma wal_checkpoint(truncate)")
    finally:
        db.close()


def _restore_log(db: sqlite3.Connection, thread: str, log: list[Record]) -> None:
    for seq, (hashed, body) in enumerate(log, start=1):
        event = decode_event(body)
        if isinstance(event, ThreadCreated):
            write.insert_thread(db, thread, event.thread, event.at)
        db.execute(
            "insert into events (thread_id, seq, type, run_id, hash, body) "
            "values (?, ?, ?, ?, ?, ?)",
            (thread, seq, event.type, event.run_id, hashed, body),
        )
        for sql, parameters in project(event):
            db.execute(sql, parameters)
        epoch = event.epoch if isinstance(event, LeaseTaken) else 0
        db.execute(
            "update threads set head_seq = ?, head_hash = ?, "
            "updated_at = coalesce(?, updated_at), "
            "lease_epoch = max(lease_epoch, ?) where id = ?",
            (seq, hashed, None if event.quiet else event.at, epoch, thread),
        )


def restore_ledger(db: sqlite3.Connection, events: list[DurableEvent]) -> None:
    """Fold the accounts and what is reserved and spent on them from all logs at once."""
    accounts: dict[str | None, str] = {}
    for event in events:
        if isinstance(event, RunStarted) and event.head:
            accounts[event.run_id] = event.account
            limits = event.limits
            account = Account(
                id=event.account,
                parent_id=event.parent_run_id,
                max_usd=limits.max_usd,
                max_tokens=limits.max_tokens,
            )
            write.open_account(db, account)
    for event in events:
        if isinstance(event, BudgetReserved):
            wanted = Reservation(
                id=event.reservation,
                account=accounts.get(event.run_id, ""),
                tokens=event.tokens,
                usd=event.usd,
            )
            write.put_reservation(db, wanted)
    for event in events:
        if isinstance(event, BudgetSettled):
            write.settle(db, event.reservation, event.tokens, event.usd)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
