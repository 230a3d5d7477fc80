"""`bridle why EVENT`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from bridle.app.looking import why_event
from bridle.app.records import open_records
from bridle.runs.why import Verdicts, trace_lines
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line

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
        _decision(found.decision)
    if found.causes:
        data("because of")
        for cause in found.causes:
            data(f"  {cause.id.rpartition('.')[2]:>5} {cause.type:<22} {cause.what}".rstrip())


def _decision(found: Verdicts) -> None:
    data(f"decision  {found.effect}")
    data(f"rule      {found.rule}")
    data(f"layer     {found.layer}")
    if found.source is not None:
        data(f"written   {found.source}")
    if found.reason is not None:
        data(f"reason    {found.reason}")
    if found.answered is not None:
        data(f"answered  {found.answered}")
    data("steps")
    for line in trace_lines(found):
        data(f"  {line}")
    if found.flip is not None:
        data(f"to flip   {found.flip} (gives {found.flip_gives})")
    else:
        data("to flip   no change of the rules does; it is not up to them")


async def _why(url: str | None, name: str) -> Why:
    async with open_records(url) as store:
        return await why_event(store, name)
