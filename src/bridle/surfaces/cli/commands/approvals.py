"""`bridle approvals`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from bridle.app.records import open_records
from bridle.surfaces.cli.closing import title_of
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, short, table, talk

if TYPE_CHECKING:
    from bridle.types.runs import PendingRow


@click.command(epilog="Example: bridle approvals --json | jq -r '.[].id'")
@json_option
@store_option
def command(as_json: bool, store: str | None) -> None:
    """List what waits for an answer, oldest first."""
    rows = anyio.run(_pending, store)
    if as_json:
        json_line(rows)
        return
    if not rows:
        talk("Nothing waits for an answer.")
        return
    table(
        ("ID", "KIND", "TOOL", "RUN", "WHAT"),
        [(r.id, r.kind, r.tool, r.run_id, short(title_of(r))) for r in rows],
    )
    talk("Answer with: bridle approve ID, bridle reject ID, or bridle answer ID TEXT")


async def _pending(url: str | None) -> list[PendingRow]:
    async with open_records(url) as store:
        return await store.pending()
