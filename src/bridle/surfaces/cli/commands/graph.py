"""`bridle graph RUN`."""

from __future__ import annotations

from pathlib import Path

import anyio
import click
import msgspec

from bridle.app.looking import families
from bridle.app.records import find_run, open_records
from bridle.runs import drawing
from bridle.runs.graph import Graph, graph
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line

FORMATS = {
    "text": drawing.as_text,
    "mermaid": drawing.as_mermaid,
    "dot": drawing.as_dot,
    "svg": drawing.as_svg,
}


@click.command(epilog="Example: bridle graph last --format svg > run.svg")
@click.argument("run")
@click.option(
    "--format", "format_", type=click.Choice(tuple(FORMATS)), default="text", show_default=True
)
@json_option
@store_option
def command(run: str, format_: str, as_json: bool, store: str | None) -> None:
    """Draw RUN: its steps, their calls, the runs that those started, and what ran in parallel."""
    found = anyio.run(_graph, store, run)
    if as_json:
        json_line([msgspec.to_builtins(found)])
    else:
        data(FORMATS[format_](found))


async def _graph(url: str | None, name: str) -> Graph:
    async with open_records(url) as store:
        (whole,) = await families(store, [await find_run(store, name, near=Path.cwd())])
        return graph(whole)
