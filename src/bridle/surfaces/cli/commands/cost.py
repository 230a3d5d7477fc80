"""`bridle cost [RUN]`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from bridle.app.looking import families
from bridle.app.records import find_run, open_records
from bridle.runs.cost import Costs, costs, unsure
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, table

if TYPE_CHECKING:
    from bridle.runs.cost import Spent, Total


@click.command(epilog="Example: bridle cost last")
@click.argument("run", required=False)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Without RUN: how many, newest first.",
)
@json_option
@store_option
def command(run: str | None, limit: int, as_json: bool, store: str | None) -> None:
    """Add up tokens and money of RUN, or of the newest runs, by run and by model.

    The runs of subagents stand below the run that started them and count in the totals. Requests
    that the provider did not count, and those whose price is not known, are marked.
    """
    found = anyio.run(_costs, store, run, limit)
    if as_json:
        json_line([msgspec.to_builtins(found)])
        return
    rows = [("  " * row.depth + row.run_id, row.model, *_numbers(row)) for row in found.runs]
    if len(found.models) > 1:
        rows += [("all", model, *_numbers(total)) for model, total in found.models.items()]
    rows.append(("total", "", *_numbers(found.total)))
    table(("RUN", "MODEL", "REQUESTS", "INPUT", "CACHED", "OUTPUT", "USD"), rows)


def _numbers(spent: Total | Spent) -> tuple[str, ...]:
    usage = spent.usage
    counted = (spent.requests, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    return (*map(str, counted), f"{spent.cost_usd:.4f}{unsure(spent)}")


async def _costs(url: str | None, name: str | None, limit: int) -> Costs:
    async with open_records(url) as store:
        if name is not None:
            rows = [await find_run(store, name, near=Path.cwd())]
        else:
            rows = [row for row in await store.runs(limit=limit) if row.parent_run_id is None]
        return costs(await families(store, rows))
