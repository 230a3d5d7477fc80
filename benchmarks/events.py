"""Durable events per second through the journal, with one writer and with twenty (NORMAL).

Every event is a commit of its own that its writer waits for; the store groups the commits that
wait at the same moment. The floor writes the same rows with plain sqlite3, one transaction for
each group of the same size, in one thread. Rates are per second of wall time; the CPU time per
event stands beside them because it is what a busy machine leaves unchanged.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import anyio
from common import cpu, scratch, table, verdict

from bridle.journal.bus import Bus
from bridle.journal.recorder import Journal
from bridle.ports.clock import SystemClock
from bridle.store.sqlite.store import SqliteStore
from bridle.types.chain import GENESIS, link
from bridle.types.events import Noted, ThreadCreated, encode_event
from bridle.types.threads import Thread

EVENTS = 4000
REPEAT = 5
TEXT = "Something that a user should know. " * 3
Rate = tuple[float, float]
"""Events per second of wall time, and microseconds of CPU per event."""


def rate(events: int, wall: float, used: float) -> Rate:
    return events / wall, used / events * 1e6


async def ours(path: Path, writers: int) -> Rate:
    store = SqliteStore(path, clock=SystemClock())
    journal = Journal(store=store, bus=Bus())
    threads = [f"thr_{number}" for number in range(writers)]
    for name in threads:
        created = ThreadCreated(thread=Thread(id=name, resource_id="bench"))
        await journal.append(name, created)
    share = EVENTS // writers

    async def write(name: str) -> None:
        for _ in range(share):
            await journal.append(name, Noted(code="bench", text=TEXT))

    began, used = time.perf_counter(), cpu()
    async with anyio.create_task_group() as tasks:
        for name in threads:
            tasks.start_soon(write, name)
    measured = rate(share * writers, time.perf_counter() - began, cpu() - used)
    await store.close()
    return measured


def floor(path: Path, batch: int) -> Rate:
    """The same bodies and hashes into a table, `batch` rows to a transaction."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = normal")
    db.execute(
        "create table events (thread_id text, seq integer, type text, run_id text, hash text, "
        "body blob, primary key (thread_id, seq)) without rowid"
    )
    began, used = time.perf_counter(), cpu()
    head = GENESIS
    for seq in range(EVENTS):
        if seq % batch == 0:
            db.execute("begin immediate")
        event = Noted(seq=seq, id=f"thr.{seq}", thread_id="thr", code="bench", text=TEXT)
        body = encode_event(event)
        head = link(head, body)
        row = ("thr", seq, "info", None, head, body)
        db.execute("insert into events values (?, ?, ?, ?, ?, ?)", row)
        if seq % batch == batch - 1:
            db.execute("commit")
    measured = rate(EVENTS, time.perf_counter() - began, cpu() - used)
    db.close()
    return measured


def fastest(rates: list[Rate]) -> Rate:
    return max(r[0] for r in rates), min(r[1] for r in rates)


def main() -> None:
    rows: list[list[object]] = []
    for writers, target in ((1, 2500), (20, 10_000)):
        measured, raw = [], []
        for _ in range(REPEAT):
            with scratch() as directory:
                measured.append(anyio.run(ours, directory / "b.db", writers))
                raw.append(floor(directory / "floor.db", writers))
        (mine, used), (theirs, least) = fastest(measured), fastest(raw)
        met = verdict(mine, target, at_least=True)
        rows.append([writers, mine, theirs, theirs / mine, used, least, f"≥ {target:,}", met])
    heads = [
        "writers",
        "ours /s",
        "sqlite3 /s",
        "ratio",
        "ours CPU µs",
        "sqlite3 CPU µs",
        "target",
        "",
    ]
    table(f"Durable events, {EVENTS} of them, best of {REPEAT}", heads, rows)


if __name__ == "__main__":
    main()
