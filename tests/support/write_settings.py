"""A process of its own that writes settings of one thread, all at once."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from bridle.journal.bus import Bus
from bridle.journal.recorder import Journal
from bridle.ports.clock import SystemClock
from bridle.store.sqlite.store import SqliteStore
from bridle.types.events import SettingsChanged


async def main(path: str, who: str, count: int) -> None:
    store = SqliteStore(Path(path), clock=SystemClock())
    journal = Journal(store=store, bus=Bus())

    async def write(number: int) -> None:
        await journal.append("thr_1", SettingsChanged(key=f"{who}.{number}", value=number))

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(write, number)
    await store.close()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]))
