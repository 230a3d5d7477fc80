"""A process of its own that admits one op to a thread, as another terminal would."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import msgspec

from bridle.journal.bus import Bus
from bridle.journal.recorder import Journal
from bridle.ports.clock import SystemClock
from bridle.store.sqlite.store import SqliteStore
from bridle.types.ops import Op


async def main(path: str, thread_id: str, input_id: str, op: str) -> None:
    store = SqliteStore(Path(path), clock=SystemClock())
    journal = Journal(store=store, bus=Bus())
    await journal.admit(thread_id, msgspec.json.decode(op, type=Op), input_id=input_id)
    await store.close()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
