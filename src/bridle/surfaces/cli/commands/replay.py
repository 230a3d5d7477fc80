"""`bridle replay RUN`."""

from __future__ import annotations

from pathlib import Path

import anyio
import click

from bridle.app.records import find_run, open_records
from bridle.runs.replay.driver import Replayed, replay_thread
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line, talk
from bridle.types.words import counted


@click.command(epilog="Example: bridle replay last")
@click.argument("run")
@json_option
@store_option
def command(run: str, as_json: bool, store: str | None) -> int:
    """Run RUN again from its log, with no model call and no effect, and compare every event."""
    found = anyio.run(_replay, store, run)
    if as_json:
        json_line([_row(found)])
    elif found.equal:
        data(
            f"equal: {counted(found.events, 'event')} ({found.recomputed} recomputed, "
            f"{found.injected} from the log), 0 model calls, 0 effects, chain {found.hash[:16]}"
        )
    if not found.equal:
        _tell(found)
        return exits.FAILED
    return exits.OK


def _tell(found: Replayed) -> None:
    if found.divergence is not None:
        talk(str(found.divergence))
    elif found.hash != found.recorded_hash:
        talk(f"thread {found.thread_id}: the recorded chain is broken")
    for child in found.children:
        _tell(child)


def _row(found: Replayed) -> dict[str, object]:
    return {
        "thread_id": found.thread_id,
        "equal": found.equal,
        "events": found.events,
        "recomputed": found.recomputed,
        "injected": found.injected,
        "model_calls": 0,
        "effects": 0,
        "hash": found.hash,
        "recorded_hash": found.recorded_hash,
        "divergence": str(found.divergence) if found.divergence is not None else None,
        "children": [_row(child) for child in found.children],
    }


async def _replay(url: str | None, name: str) -> Replayed:
    async with open_records(url) as store:
        row = await find_run(store, name, near=Path.cwd())
        return await replay_thread(store, row.thread_id, until=row.run_id)
