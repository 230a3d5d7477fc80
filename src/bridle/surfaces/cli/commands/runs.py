"""`bridle runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from bridle.app.records import open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, short, table

if TYPE_CHECKING:
    from bridle.types.runs import RunRow


@click.command(epilog="Example: bridle runs --json | jq '.[0].reason'")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many, newest first.",
)
@json_option
@store_option
def command(limit: int, as_json: bool, store: str | None) -> None:
    """List runs, newest first."""
    rows = anyio.run(_runs, store, limit)
    if as_json:
        json_line(rows)
        return
    table(
        ("RUN", "STATUS", "REASON", "VERDICT", "STEPS", "USD", "TASK"),
        [
            (
                row.run_id,
                row.status,
                row.reason or "-",
                row.verdict or "-",
                str(row.steps),
                f"{row.cost_usd:.4f}",
                short(row.task),
            )
            for row in rows
        ],
    )


async def _runs(url: str | None, limit: int) -> list[RunRow]:
    async with open_records(url) as store:
        return await store.runs(limit=limit)
