"""What another program does to a run of the executable, through its store."""

from __future__ import annotations

import anyio

from bridle.app.records import open_records
from bridle.journal.bus import Bus
from bridle.journal.recorder import Journal
from bridle.types.ops import Interrupt
from support.cli import Bridle


def end_from_elsewhere(bridle: Bridle) -> None:
    """Interrupt the only run that there is."""
    (row,) = bridle("runs", "--json").json

    async def end() -> None:
        async with open_records(f"sqlite:///{bridle.home / 'b' / 'bridle.db'}") as store:
            journal = Journal(store=store, bus=Bus())
            await journal.admit(row["thread_id"], Interrupt(run_id=row["run_id"]), input_id="x")

    anyio.run(end)
