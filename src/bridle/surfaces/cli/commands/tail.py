"""`bridle tail`."""

from __future__ import annotations

import sys

import anyio
import click

from bridle.app.following import follow
from bridle.app.records import open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data
from bridle.surfaces.cli.render import event_line
from bridle.types.events import encode_event


@click.command(epilog="Example: bridle tail --json | grep tool_start")
@click.option("--thread", metavar="ID", help="Only the events of this thread.")
@click.option("--from-start", is_flag=True, help="Begin with what is there already.")
@json_option
@store_option
def command(thread: str | None, from_start: bool, as_json: bool, store: str | None) -> None:
    """Print the events of all threads as they are committed, until you stop it."""
    anyio.run(_tail, store, thread, from_start, as_json)


async def _tail(url: str | None, thread: str | None, from_start: bool, as_json: bool) -> None:
    async with open_records(url) as store:
        async for event in follow(store, thread_id=thread, from_start=from_start):
            if as_json:
                sys.stdout.buffer.write(encode_event(event) + b"\n")
            else:
                data(f"{event.thread_id[-6:]} {event_line(event)}")
            sys.stdout.flush()
