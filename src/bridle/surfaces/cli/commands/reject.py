"""`bridle reject ID`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from bridle.app.records import answer, open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, talk
from bridle.types.ops import Decline

if TYPE_CHECKING:
    from bridle.types.runs import PendingRow


@click.command(epilog="Example: bridle reject apr_01J… --reason 'not on a Friday'")
@click.argument("id")
@click.option("--reason", default=None, help="Told to the model.")
@json_option
@store_option
def command(id: str, reason: str | None, as_json: bool, store: str | None) -> None:
    """Do not let the call that waits as ID run."""
    row = anyio.run(_reject, store, id, reason)
    if as_json:
        json_line([{"id": row.id, "run_id": row.run_id, "approved": False}])
    talk(f"Rejected {row.tool} ({row.id}). Go on with: bridle run --continue")


async def _reject(url: str | None, pending_id: str, reason: str | None) -> PendingRow:
    async with open_records(url) as store:
        return await answer(store, pending_id, Decline(id=pending_id, reason=reason))
