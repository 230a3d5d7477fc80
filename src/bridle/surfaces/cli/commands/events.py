"""`bridle events RUN`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from bridle.app.records import find_run, open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data
from bridle.surfaces.cli.render import event_line
from bridle.types.events import DurableEvent, encode_event
from bridle.types.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.runs.requests import SentRequest


@click.command(epilog="Example: bridle events last --json | grep tool_end")
@click.argument("run")
@click.option(
    "--requests", is_flag=True, help="Print what was sent to the model instead, built again."
)
@json_option
@store_option
def command(run: str, requests: bool, as_json: bool, store: str | None) -> None:
    """Print the events of RUN: an id, the end of one, or `last`."""
    if requests:
        _print_requests(anyio.run(_requests, store, run), as_json)
        return
    for event in anyio.run(_events, store, run):
        if as_json:
            sys.stdout.buffer.write(encode_event(event) + b"\n")
        else:
            data(event_line(event))
    sys.stdout.flush()


def _print_requests(sent: Sequence[SentRequest], as_json: bool) -> None:
    import msgspec

    for one in sent:
        if as_json:
            sys.stdout.buffer.write(msgspec.json.encode(one) + b"\n")
            continue
        asked = one.request
        last = asked.messages[-1].text if asked.messages else ""
        data(
            f"{one.seq:>5} {one.model}: step {asked.step}, {len(asked.tools)} tools, "
            f"{counted(len(asked.messages), 'message')}, the last: {' '.join(last.split())[:80]}"
        )
    sys.stdout.flush()


async def _requests(url: str | None, name: str) -> Sequence[SentRequest]:
    from bridle.app.all_runs import rebuilt_requests

    async with open_records(url) as store:
        return await rebuilt_requests(store, name)


async def _events(url: str | None, name: str) -> list[DurableEvent]:
    async with open_records(url) as store:
        row = await find_run(store, name, near=Path.cwd())
        return [e for e in await store.events(row.thread_id) if e.run_id == row.run_id]
