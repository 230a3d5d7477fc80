"""`bridle approve ID`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from bridle.app.records import answer, open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, talk
from bridle.types.ops import Approve

if TYPE_CHECKING:
    from bridle.types.runs import PendingRow


@click.command(epilog="Example: bridle approve apr_01J… && bridle run --continue")
@click.argument("id")
@click.option("--always", is_flag=True, help="Also allow more of its kind while the run goes on.")
@click.option(
    "--scope",
    type=click.Choice(["category", "tool", "pattern"]),
    default="category",
    show_default=True,
    help="What more of its kind is; the card says what each of them matches.",
)
@json_option
@store_option
def command(id: str, always: bool, scope: str, as_json: bool, store: str | None) -> None:
    """Let the call that waits as ID run."""
    row = anyio.run(_approve, store, id, scope if always else None)
    if as_json:
        json_line([{"id": row.id, "run_id": row.run_id, "approved": True}])
    for entry in row.card.get("always", ()) if always else ():
        if entry["scope"] == scope:
            talk(f"From now on: {entry['matches']}.")
    talk(f"Approved {row.tool} ({row.id}). Go on with: bridle run --continue")


async def _approve(url: str | None, pending_id: str, always: str | None) -> PendingRow:
    op = Approve(id=pending_id, always=always)
    async with open_records(url) as store:
        return await answer(store, pending_id, op)
