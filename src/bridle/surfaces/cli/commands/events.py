"""`bridle events RUN`."""

from __future__ import annotations

import sys

import anyio
import click

from bridle.app.records import find_run, open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data
from bridle.surfaces.cli.render import event_line
from bridle.types.events import DurableEvent, encode_event


@click.command(epilog="Example: bridle events last --json | grep tool_end")
@click.argument("run")
@json_option
@store_option
def command(run: str, as_json: bool, store: str | None) -> None:
    """Print the events of RUN: an id, the end of one, or `last`."""
    for event in anyio.run(_events, store, run):
        if as_json:
            sys.stdout.buffer.write(encode_event(event) + b"\n")
        else:
            data(event_line(event))
    sys.stdout.flush()


async def _events(url: str | None, name: str) -> list[DurableEvent]:
    async with open_records(url) as store:
        row = await find_run(store, name)
        return [e for e in await store.events(row.thread_id) if e.run_id == row.run_id]
