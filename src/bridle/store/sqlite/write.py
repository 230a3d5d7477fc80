"""The write funnel: the one place where the log grows.

Here events get their seq, time and hash, projections follow them, leases and budgets are checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.errors import BudgetBlocked, HeadMoved, LeaseLost, StoreError
from bridle.store.projections import project
from bridle.types.chain import GENESIS, digest, link
from bridle.types.events import (
    DurableEvent,
    Event,
    InputAdmitted,
    SettingsChanged,
    SubagentToolEnded,
    SubagentToolStarted,
    ThreadCreated,
    decode_event,
    encode_event,
)
from bridle.types.ids import event_id
from bridle.types.ledger import DUST_USD
from bridle.types.ops import CHILD_HEAD, Settle

if TYPE_CHECKING:
    import sqlite3

    from bridle.ports.store import Append, Batch, Reservation
    from bridle.types.ledger import Account
    from bridle.types.threads import Thread

_json = msgspec.json.Encoder()


def commit(db: sqlite3.Connection, batch: Batch, at: str) -> tuple[DurableEvent, ...]:
    """Write a batch inside the open transaction; raises to have all of it rolled back."""
    for blob in batch.blobs:
        db.execute("insert or ignore into blobs (hash, body) values (?, ?)", (digest(blob), blob))
    for account in batch.accounts:
        open_account(db, account)
    for spent in batch.spent:
        settle(db, spent.reservation, spent.tokens, spent.usd)
    if batch.reserve is not None:
        _reserve(db, batch.reserve)
    stamped: list[DurableEvent] = []
    for append in batch.appends:
        beside = append is not batch.appends[0]
        stamped.extend(_append(db, _bound(db, append, batch), at, beside=beside))
    return tuple(stamped)


def _bound(db: sqlite3.Connection, append: Append, batch: Batch) -> Append:
    """Put the end of the child's chain, as this transaction leaves it, into its parent's log."""
    if append is batch.appends[0] or not append.events:
        return append
    event = append.events[0]
    if not (
        isinstance(event, InputAdmitted)
        and isinstance(event.op, Settle)
        and event.op.head == CHILD_HEAD
    ):
        return append
    child = batch.appends[0].thread_id
    row = db.execute("select head_hash from threads where id = ?", (child,)).fetchone()
    op = msgspec.structs.replace(event.op, head=row[0])
    bound = msgspec.structs.replace(event, op=op)
    return msgspec.structs.replace(append, events=(bound, *append.events[1:]))


def _append(db: sqlite3.Connection, append: Append, at: str, *, beside: bool) -> list[DurableEvent]:
    """Append to one log; what is told `beside` it to a thread that is deleted is dropped."""
    row = db.execute(
        "select head_seq, head_hash, lease_epoch, deleted from threads where id = ?",
        (append.thread_id,),
    ).fetchone()
    if row is None:
        if not (append.events and isinstance(append.events[0], ThreadCreated)):
            raise StoreError(f"There is no thread {append.thread_id}.")
        insert_thread(db, append.thread_id, append.events[0].thread, at)
        row = (0, GENESIS, 0, 0)
    seq, head, epoch, deleted = row
    if append.epoch is not None and append.epoch != epoch:
        raise LeaseLost(f"Thread {append.thread_id} is drained by another owner (epoch {epoch}).")
    if append.expect is not None and append.expect != seq:
        raise HeadMoved(f"Thread {append.thread_id} is at event {seq}, not {append.expect}.")
    if deleted and beside:
        return []
    if deleted:
        raise StoreError(f"Thread {append.thread_id} is deleted.")
    stamped: list[DurableEvent] = []
    for event in append.events:
        if _known(db, append.thread_id, event):
            continue
        seq += 1
        whole = _stamp(event, append.thread_id, seq, at)
        body = encode_event(whole)
        head = link(head, body)
        db.execute(
            "insert into events (thread_id, seq, type, run_id, hash, body) "
            "values (?, ?, ?, ?, ?, ?)",
            (append.thread_id, seq, whole.type, whole.run_id, head, body),
        )
        for sql, parameters in project(whole):
            db.execute(sql, parameters)
        stamped.append(whole)
    if stamped:
        db.execute(
            "update threads set head_seq = ?, head_hash = ?, "
            "updated_at = coalesce(?, updated_at) where id = ?",
            (seq, head, None if all(e.quiet for e in stamped) else at, append.thread_id),
        )
    return stamped


def _stamp(event: Event, thread_id: str, seq: int, at: str) -> DurableEvent:
    """Give an event its place, in the form in which it will be read back.

    So what is in memory equals what is in the log, and nothing is written that cannot be read.
    """
    whole = msgspec.structs.replace(
        event,
        seq=seq,
        id=event_id(thread_id, seq),
        at=at,
        thread_id=thread_id,
    )
    try:
        return decode_event(encode_event(whole))
    except (ValueError, TypeError, RecursionError) as error:  # DecodeError is a ValueError
        raise ValueError(f"A {event.type} event cannot be recorded: {error}") from error


def _known(db: sqlite3.Connection, thread_id: str, event: Event) -> bool:
    """What changes nothing: an input admitted before, a setting as it is, news for an ended run."""
    if isinstance(event, InputAdmitted):
        found = db.execute("select 1 from inbox where input_id = ?", (event.input_id,)).fetchone()
        return found is not None
    if isinstance(event, SettingsChanged):
        found = db.execute(
            "select value from settings where thread_id = ? and key = ?",
            (thread_id, event.key),
        ).fetchone()
        return found is not None and found[0] == _json.encode(event.value).decode()
    if isinstance(event, SubagentToolStarted | SubagentToolEnded):  # a run ends with its end
        found = db.execute("select status from runs where run_id = ?", (event.run_id,)).fetchone()
        return found is None or found[0] == "ended"
    return False


def insert_thread(db: sqlite3.Connection, thread_id: str, thread: Thread, at: str) -> None:
    """Make the row of a thread that begins."""
    db.execute(
        "insert into threads (id, resource_id, title, harness_id, workspace, parent_thread, "
        "parent_run, parent_call, depth, hidden, metadata, created_at, updated_at, head_hash) "
        "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            thread_id,
            thread.resource_id,
            thread.title,
            thread.harness_id,
            thread.workspace,
            thread.parent_thread,
            thread.parent_run,
            thread.parent_call,
            thread.depth,
            int(thread.hidden),
            _json.encode(thread.metadata).decode(),
            thread.created_at or at,
            at,
            GENESIS,
        ),
    )


def open_account(db: sqlite3.Connection, account: Account) -> None:
    """Make an account, unless it exists."""
    db.execute(
        "insert or ignore into accounts (id, parent_id, max_usd, max_tokens) values (?, ?, ?, ?)",
        (account.id, account.parent_id, account.max_usd, account.max_tokens),
    )


def _chain(db: sqlite3.Connection, account_id: str) -> list[str]:
    ids: list[str] = []
    current: str | None = account_id
    while current is not None and current not in ids:
        ids.append(current)
        row = db.execute("select parent_id from accounts where id = ?", (current,)).fetchone()
        current = row[0] if row else None
    return ids


def _reserve(db: sqlite3.Connection, wanted: Reservation) -> None:
    for account_id in _chain(db, wanted.account):
        done = db.execute(
            "update accounts set reserved_usd = reserved_usd + :usd, "
            "reserved_tokens = reserved_tokens + :tokens where id = :id "
            "and (max_usd is null or :usd = 0 "
            "     or spent_usd + reserved_usd + :usd <= max_usd + :dust) "
            "and (max_tokens is null or spent_tokens + reserved_tokens + :tokens <= max_tokens)",
            {
                "usd": wanted.usd,
                "tokens": wanted.tokens,
                "id": account_id,
                "dust": DUST_USD * max(1.0, wanted.usd),
            },
        )
        if done.rowcount != 1:
            raise BudgetBlocked(f"The budget of {account_id} has no room.", final=False)
    _insert_reservation(db, wanted)


def put_reservation(db: sqlite3.Connection, wanted: Reservation) -> None:
    """Set room aside as it was recorded, whatever the caps say."""
    for account_id in _chain(db, wanted.account):
        db.execute(
            "update accounts set reserved_usd = reserved_usd + ?, "
            "reserved_tokens = reserved_tokens + ? where id = ?",
            (wanted.usd, wanted.tokens, account_id),
        )
    _insert_reservation(db, wanted)


def _insert_reservation(db: sqlite3.Connection, wanted: Reservation) -> None:
    db.execute(
        "insert into reservations (id, account, tokens, usd) values (?, ?, ?, ?)",
        (wanted.id, wanted.account, wanted.tokens, wanted.usd),
    )


def settle(db: sqlite3.Connection, reservation: str, tokens: int, usd: float) -> None:
    """Turn a reservation into what was spent; a second time changes nothing."""
    row = db.execute(
        "update reservations set settled = 1 where id = ? and settled = 0 "
        "returning account, tokens, usd",
        (reservation,),
    ).fetchone()
    if row is None:
        return
    account, reserved_tokens, reserved_usd = row
    for account_id in _chain(db, account):
        db.execute(
            "update accounts set reserved_usd = max(0, reserved_usd - ?), "
            "reserved_tokens = reserved_tokens - ?, spent_usd = spent_usd + ?, "
            "spent_tokens = spent_tokens + ? where id = ?",
            (reserved_usd, reserved_tokens, usd, tokens, account_id),
        )
