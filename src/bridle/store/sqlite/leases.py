"""Leases on threads: who may drain one, until when, and with which epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from bridle.errors import HeadMoved, LeaseLost, StoreError, ThreadInUse
from bridle.ports.store import Append
from bridle.types.events import LeaseTaken
from bridle.types.threads import Lease, Owner

if TYPE_CHECKING:
    import sqlite3

Alive = Callable[[Owner], bool | None]
"""True or False when this host can tell whether an owner lives, None when it cannot."""

_json = msgspec.json.Encoder()
_owner = msgspec.json.Decoder(Owner)


def take(
    db: sqlite3.Connection,
    thread_id: str,
    owner: Owner,
    *,
    now: float,
    at: str,
    seconds: float,
    alive: Alive,
) -> tuple[Lease, Append]:
    """Take the lease; the returned append records it and must be written in the transaction."""
    present = read(db, thread_id)
    if present is not None and present.expires > now and alive(present.owner) is not False:
        raise ThreadInUse(thread_id, str(present.owner), present.since)
    epoch_row = db.execute("select lease_epoch from threads where id = ?", (thread_id,)).fetchone()
    if epoch_row is None:
        raise StoreError(f"There is no thread {thread_id}.")
    lease = Lease(
        thread_id=thread_id, owner=owner, epoch=epoch_row[0] + 1, since=at, expires=now + seconds
    )
    db.execute(
        "update threads set lease_owner = ?, lease_epoch = ?, lease_since = ?, lease_expires = ? "
        "where id = ?",
        (_json.encode(owner).decode(), lease.epoch, at, lease.expires, thread_id),
    )
    took_over = str(present.owner) if present is not None else None
    taken = LeaseTaken(owner=owner, epoch=lease.epoch, took_over=took_over)
    return lease, Append(thread_id=thread_id, events=(taken,), epoch=lease.epoch)


def renew(db: sqlite3.Connection, lease: Lease, *, now: float, seconds: float) -> Lease:
    """Move the expiry; refused when the epoch is not ours any more."""
    done = db.execute(
        "update threads set lease_expires = ? "
        "where id = ? and lease_epoch = ? and lease_owner is not null",
        (now + seconds, lease.thread_id, lease.epoch),
    )
    if done.rowcount != 1:
        raise LeaseLost(f"Thread {lease.thread_id} is drained by another owner.")
    return msgspec.structs.replace(lease, expires=now + seconds)


def release(db: sqlite3.Connection, lease: Lease, *, expect: int) -> None:
    """Give the lease back, if nothing was appended since `expect`."""
    row = db.execute(
        "select head_seq, lease_epoch from threads where id = ?", (lease.thread_id,)
    ).fetchone()
    if row is None or row[1] != lease.epoch:
        raise LeaseLost(f"Thread {lease.thread_id} is drained by another owner.")
    if row[0] != expect:
        raise HeadMoved(f"Thread {lease.thread_id} is at event {row[0]}, not {expect}.")
    db.execute(
        "update threads set lease_owner = null, lease_expires = null where id = ?",
        (lease.thread_id,),
    )


def read(db: sqlite3.Connection, thread_id: str) -> Lease | None:
    """Tell who has the lease, expired or not."""
    row = db.execute(
        "select lease_owner, lease_epoch, lease_since, lease_expires from threads where id = ?",
        (thread_id,),
    ).fetchone()
    if row is None or row[0] is None:
        return None
    return Lease(
        thread_id=thread_id,
        owner=_owner.decode(row[0]),
        epoch=row[1],
        since=row[2],
        expires=row[3],
    )
