"""`bridle answer ID TEXT`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from bridle.app.records import answer_plan, answer_question, open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, talk

if TYPE_CHECKING:
    from bridle.types.runs import PendingRow


@click.command(epilog="Example: bridle answer qst_01J… 'use the blue one' && bridle run --continue")
@click.argument("id")
@click.argument("text", nargs=-1)
@click.option("--approve", is_flag=True, help="Carry out the plan that waits as ID.")
@click.option("--reject", metavar="TEXT", help="Ask for another plan, and say what should change.")
@json_option
@store_option
def command(
    id: str,
    text: tuple[str, ...],
    approve: bool,
    reject: str | None,
    as_json: bool,
    store: str | None,
) -> None:
    """Answer the question that waits as ID (several TEXTs are several choices), or a plan."""
    if sum((bool(text), approve, reject is not None)) != 1:
        raise click.UsageError("Give a TEXT for a question, or --approve or --reject for a plan.")
    row = anyio.run(_answer, store, id, text, reject)
    if as_json:
        json_line([{"id": row.id, "run_id": row.run_id, "kind": row.kind}])
    talk(f"Answered the {row.kind} {row.id}. Go on with: bridle run --continue")


async def _answer(
    url: str | None, pending_id: str, text: tuple[str, ...], reject: str | None
) -> PendingRow:
    async with open_records(url) as store:
        if text:
            return await answer_question(store, pending_id, text)
        return await answer_plan(store, pending_id, feedback=reject)
