"""Stores for tests, and events to put in them."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bridle.ports.clock import SystemClock
from bridle.ports.store import Append, Batch
from bridle.store.projections import project
from bridle.store.sqlite.opening import migrate
from bridle.store.sqlite.salvage import restore_ledger
from bridle.store.sqlite.store import SqliteStore
from bridle.store.sqlite.write import insert_thread
from bridle.types.content import Text
from bridle.types.events import Event, InputAdmitted, Noted, ThreadCreated, decode_event
from bridle.types.ops import Send
from bridle.types.threads import Owner, Thread

ELSEWHERE = Owner(host="elsewhere", boot="b", pid=1, started="1")
ANOTHER = Owner(host="another", boot="b", pid=2, started="2")


class Clock(SystemClock):
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def now(self) -> float:
        return self.time


@asynccontextmanager
async def open_store(path: Path | None, clock: Any = None) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, clock=clock or SystemClock())
    try:
        yield store
    finally:
        await store.close()


def created(thread_id: str = "thr_1", **more: Any) -> ThreadCreated:
    return ThreadCreated(thread=Thread(id=thread_id, resource_id="r", **more))


def sent(input_id: str = "in_1", run_id: str = "run_1") -> InputAdmitted:
    return InputAdmitted(input_id=input_id, op=Send(run_id=run_id, parts=(Text("hello"),)))


def note(text: str = "x") -> Noted:
    return Noted(code="test", text=text)


def append(thread_id: str, *events: Event, **more: Any) -> Batch:
    return Batch(appends=(Append(thread_id=thread_id, events=events, **more),))


PROJECTED = ("threads", "inbox", "runs", "pending", "settings")


def rows(db: sqlite3.Connection) -> dict[str, list[Any]]:
    """Everything that follows from the log, apart from leases and the head."""
    found = {}
    for table in PROJECTED:
        names = [row[1] for row in db.execute(f"pragma table_info({table})")]
        kept = [n for n in names if not n.startswith(("lease_", "head_"))]
        query = f"select {', '.join(kept)} from {table} order by 1, 2"
        found[table] = db.execute(query).fetchall()
    return found


def refold(events: list[Any]) -> dict[str, list[Any]]:
    """The same rows, made anew from events alone."""
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    migrate(fresh)
    for event in events:
        if isinstance(event, ThreadCreated):
            insert_thread(fresh, event.thread_id, event.thread, event.at)
        for sql, values in project(event):
            fresh.execute(sql, values)
        if not event.quiet:
            what = "update threads set updated_at = ? where id = ?"
            fresh.execute(what, (event.at, event.thread_id))
    try:
        return rows(fresh)
    finally:
        fresh.close()


def ledger(db: sqlite3.Connection) -> list[Any]:
    """Every account, rounded to what sums of floats keep."""
    query = (
        "select id, parent_id, max_usd, max_tokens, round(spent_usd, 9), spent_tokens, "
        "round(reserved_usd, 9), reserved_tokens from accounts order by id"
    )
    return db.execute(query).fetchall()


def check_projections(path: Path) -> None:
    """Rows and ledger of a file are what its logs say."""
    db = sqlite3.connect(path)
    try:
        check_rows(db)
    finally:
        db.close()


def check_rows(db: sqlite3.Connection) -> None:
    """Made anew from the events, rows and ledger are the same."""
    bodies = db.execute("select body from events order by thread_id, seq").fetchall()
    events = [decode_event(body) for (body,) in bodies]
    assert rows(db) == refold(events)
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    migrate(fresh)
    restore_ledger(fresh, events)
    assert ledger(db) == ledger(fresh)
    fresh.close()
