"""Queries over the log and its projections."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.types.collecting import collector_paused
from bridle.types.events import DurableEvent, MessageEnded, decode_event
from bridle.types.ledger import Account
from bridle.types.runs import PendingRow, RunPlace, RunRow
from bridle.types.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bridle.types.messages import Message

CHUNK = 500
_RUN = (
    "select r.run_id, r.thread_id, r.parent_run_id, r.status, r.reason, r.verdict, r.task, "
    "r.model, r.started_at, r.ended_at, r.steps, r.cost_usd from runs r "
)
_THREAD = (
    "select id, resource_id, title, created_at, updated_at, metadata, harness_id, workspace, "
    "parent_thread, parent_run, parent_call, depth, hidden, messages from threads "
)
_PENDING = "select id, kind, run_id, thread_id, call_id, tool, args, card, created_at from pending "


class DamagedRecord(sqlite3.DatabaseError):
    """A row that SQLite gives out and that is not what was written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def events(
    db: sqlite3.Connection, thread_id: str, after: int, limit: int | None
) -> list[DurableEvent]:
    """Read a log in order."""
    rows = db.execute(
        "select body from events where thread_id = ? and seq > ? order by seq limit ?",
        (thread_id, after, -1 if limit is None else limit),
    )
    return [_decoded(thread_id, body) for (body,) in rows]


def _decoded(thread_id: str, body: bytes) -> DurableEvent:
    try:
        return decode_event(body)
    except msgspec.DecodeError as error:
        start = body[:80].decode("utf-8", "replace")
        raise DamagedRecord(f"a record of {thread_id} cannot be read: {error}: {start}…") from error


def history(db: sqlite3.Connection, thread_id: str, passing: Sequence[str]) -> list[DurableEvent]:
    """Read a log without the events of some types, but all that follows the last message but one.

    So it does not matter where in a message's own events the log ends.
    """
    before = db.execute(
        "select seq from events where thread_id = ? and type = 'message_end' "
        "order by seq desc limit 1 offset 1",
        (thread_id,),
    ).fetchone()
    # compared one by one: `not in` looks every row up in a table of its own
    other = " and ".join(["type <> ?"] * len(passing)) or "true"
    rows = db.execute(
        f"select body from events where thread_id = ? and (seq > ? or {other}) order by seq",
        (thread_id, before[0] if before else 0, *passing),
    )
    with collector_paused():
        return [decode_event(body) for (body,) in rows]


def records(db: sqlite3.Connection, thread_id: str) -> list[tuple[int, str, bytes]]:
    """Read a log as it is stored, whatever types somebody else has left in it."""
    rows = db.execute(
        "select seq, cast(hash as text), coalesce(cast(body as blob), x'') from events "
        "where thread_id = ? order by seq",
        (thread_id,),
    )
    return rows.fetchall()


def heads(db: sqlite3.Connection, thread_ids: Collection[str]) -> dict[str, int]:
    """Tell where many logs end, a few hundred at a time."""
    names = list(thread_ids)
    found: dict[str, int] = {}
    for start in range(0, len(names), CHUNK):
        some = names[start : start + CHUNK]
        marks = ", ".join("?" * len(some))
        found.update(db.execute(f"select id, head_seq from threads where id in ({marks})", some))
    return found


def thread(db: sqlite3.Connection, thread_id: str) -> Thread | None:
    """Read one thread that is not deleted."""
    row = db.execute(_THREAD + "where id = ? and deleted = 0", (thread_id,)).fetchone()
    return None if row is None else _thread(row)


def threads(db: sqlite3.Connection, resource_id: str | None, hidden: bool) -> list[Thread]:
    """List threads, newest first; ties are broken by id."""
    rows = db.execute(
        _THREAD + "where deleted = 0 and (? is null or resource_id = ?) and (? or hidden = 0) "
        "order by updated_at desc, id desc",
        (resource_id, resource_id, int(hidden)),
    )
    return [_thread(row) for row in rows]


def first_messages(db: sqlite3.Connection, thread_ids: Collection[str]) -> dict[str, Message]:
    """Read the message that each of many threads began with, one query for a few hundred."""
    names = list(thread_ids)
    found: dict[str, Message] = {}
    for start in range(0, len(names), CHUNK):
        some = names[start : start + CHUNK]
        marks = ", ".join("?" * len(some))
        rows = db.execute(
            "select t.id, (select body from events e where e.thread_id = t.id and "
            "e.type = 'message_end' and e.body ->> '$.message.role' = 'user' and "
            "e.body ->> '$.message.id' not like 'pin!_%' escape '!' order by e.seq limit 1) "
            f"from threads t where t.id in ({marks}) and t.deleted = 0",
            some,
        )
        for thread_id, body in rows:
            ended = None if body is None else _decoded(thread_id, body)
            if isinstance(ended, MessageEnded):
                found[thread_id] = ended.message
    return found


def children(db: sqlite3.Connection, thread_id: str) -> list[str]:
    """List all descendants."""
    rows = db.execute(
        "with recursive tree (id) as ("
        "select id from threads where parent_thread = ? "
        "union select t.id from threads t join tree on t.parent_thread = tree.id"
        ") select id from tree",
        (thread_id,),
    )
    return [row[0] for row in rows]


def settings(db: sqlite3.Connection, thread_id: str) -> dict[str, Any]:
    """Read a thread's settings."""
    rows = db.execute("select key, value from settings where thread_id = ?", (thread_id,))
    return {key: msgspec.json.decode(value) for key, value in rows}


def runs(
    db: sqlite3.Connection, thread_id: str | None, resource_id: str | None, limit: int
) -> list[RunRow]:
    """List runs, newest first."""
    rows = db.execute(
        _RUN + "join threads t on t.id = r.thread_id "
        "where (? is null or r.thread_id = ?) and (? is null or t.resource_id = ?) "
        "order by r.started_at desc, r.run_id desc limit ?",
        (thread_id, thread_id, resource_id, resource_id, limit),
    )
    return [_run(row) for row in rows]


def run(db: sqlite3.Connection, run_id: str) -> RunPlace | None:
    """Read one run and where it begins."""
    row = db.execute(_RUN.replace(" from", ", r.start_seq from") + "where r.run_id = ?", (run_id,))
    found = row.fetchone()
    return None if found is None else RunPlace(row=_run(found[:-1]), start_seq=found[-1])


def find_runs(db: sqlite3.Connection, suffix: str) -> list[RunRow]:
    """Find runs by the end of their id."""
    rows = db.execute(
        _RUN + "where substr(r.run_id, -length(?)) = ? order by r.started_at desc",
        (suffix, suffix),
    )
    return [_run(row) for row in rows]


def pending(db: sqlite3.Connection, only: Sequence[str] | None) -> list[PendingRow]:
    """List what waits for an answer."""
    if only is None:
        rows = db.execute(_PENDING + "order by created_at, rowid").fetchall()
    else:
        marks = ", ".join("?" * len(only))
        rows = db.execute(
            _PENDING + f"where thread_id in ({marks}) order by created_at, rowid", tuple(only)
        ).fetchall()
    return [
        PendingRow(
            id=row[0],
            kind=row[1],
            run_id=row[2],
            thread_id=row[3],
            call_id=row[4],
            tool=row[5],
            args=msgspec.json.decode(row[6]),
            card=msgspec.json.decode(row[7]),
            created_at=row[8],
        )
        for row in rows
    ]


def unfinished(db: sqlite3.Connection, only: Sequence[str] | None) -> list[str]:
    """List threads with open input or with a run that is neither parked nor ended."""
    rows = db.execute(
        "select thread_id from inbox where done = 0 "
        "union select thread_id from runs where status = 'running'"
    )
    found = [row[0] for row in rows]
    return found if only is None else [name for name in found if name in set(only)]


def accounts(db: sqlite3.Connection, account_id: str) -> list[Account]:
    """Read an account and all above it."""
    chain: list[Account] = []
    current: str | None = account_id
    while current is not None:
        row = db.execute(
            "select id, parent_id, max_usd, max_tokens, spent_usd, spent_tokens, reserved_usd, "
            "reserved_tokens from accounts where id = ?",
            (current,),
        ).fetchone()
        if row is None:
            break
        chain.append(
            Account(
                id=row[0],
                parent_id=row[1],
                max_usd=row[2],
                max_tokens=row[3],
                spent_usd=row[4],
                spent_tokens=row[5],
                reserved_usd=row[6],
                reserved_tokens=row[7],
            )
        )
        current = row[1]
    return chain


def _thread(row: tuple[Any, ...]) -> Thread:
    return Thread(
        id=row[0],
        resource_id=row[1],
        title=row[2],
        created_at=row[3],
        updated_at=row[4],
        metadata=msgspec.json.decode(row[5]),
        harness_id=row[6],
        workspace=row[7],
        parent_thread=row[8],
        parent_run=row[9],
        parent_call=row[10],
        depth=row[11],
        hidden=bool(row[12]),
        messages=row[13],
    )


def _run(row: tuple[Any, ...]) -> RunRow:
    return RunRow(
        run_id=row[0],
        thread_id=row[1],
        parent_run_id=row[2],
        status=row[3],
        reason=row[4],
        verdict=row[5],
        task=row[6],
        model=row[7],
        started_at=row[8],
        ended_at=row[9],
        steps=row[10],
        cost_usd=row[11],
    )
