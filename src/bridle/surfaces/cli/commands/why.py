"""`bridle why EVENT`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from bridle.app.looking import why_event
from bridle.app.records import open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line
from bridle.surfaces.cli.rulings import show_decision

if TYPE_CHECKING:
    from bridle.runs.why import Why


@click.command(epilog="Example: bridle why last@12")
@click.argument("event")
@json_option
@store_option
def command(event: str, as_json: bool, store: str | None) -> None:
    """Tell why EVENT happened: `thr_….SEQ`, `RUN@SEQ`, or the id of a call.

    For a call and its decision: the rule, where it is written, every step of the decision, and the
    smallest change that would turn it around. For all events: what they follow from.
    """
    found = anyio.run(_why, store, event)
    if as_json:
        json_line([msgspec.to_builtins(found)])
        return
    data(f"{found.id} {found.type} {found.what}".rstrip())
    if found.decision is not None:
        show_decision(found.decision)
    if found.causes:
        data("because of")
        for cause in found.causes:
            data(f"  {cause.id.rpartition('.')[2]:>5} {cause.type:<22} {cause.what}".rstrip())


async def _why(url: str | None, name: str) -> Why:
    async with open_records(url) as store:
        return await why_event(store, name)
