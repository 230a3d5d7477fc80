"""`bridle schema`."""

from __future__ import annotations

import click
import msgspec

from bridle.app.policy import spec_schema
from bridle.surfaces.cli.output import data
from bridle.types.events import AnyEvent


@click.command(epilog="Example: bridle schema events > events.schema.json")
@click.argument("what", type=click.Choice(("events", "spec", "all")), default="all")
@click.option("--json", "as_json", is_flag=True, help="Accepted; it is always JSON.")
def command(what: str, as_json: bool) -> None:
    """Print the JSON Schema of the events, of harness.yaml, or of both."""
    del as_json
    found = {"spec": spec_schema(), "events": msgspec.json.schema(AnyEvent)}
    chosen = found if what == "all" else found[what]
    data(msgspec.json.format(msgspec.json.encode(chosen), indent=2).decode())
