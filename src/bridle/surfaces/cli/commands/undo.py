"""`bridle undo [RUN]`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from bridle.app.records import find_run, open_records, open_undo, works_near
from bridle.errors import UserError
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, talk

if TYPE_CHECKING:
    from bridle.app.undo import Undone

NOT_HELD = "it is ignored by git, a nested repository, or over 64 MiB"


@click.command(epilog="Example: bridle undo last")
@click.argument("run", default="last")
@click.option("--redo", is_flag=True, help="Do again what an undo of RUN took back.")
@json_option
@store_option
def command(run: str, redo: bool, as_json: bool, store: str | None) -> int:
    """Take back RUN (the last one): its files and its conversation, never your own edits.

    A conversation can only be cut, so later runs of the thread are taken back too. Exits 3 when a
    file was edited since and was left alone.
    """
    undone = anyio.run(_undo, store, run, redo)
    if as_json:
        json_line([msgspec.to_builtins(undone)])
    for path in undone.restored:
        talk(f"restored {path}")
    for path in undone.merged:
        talk(f"restored {path}, and kept your own changes in it")
    for text in (*undone.kept, *undone.uncovered):
        talk(f"left alone: {text}")
    for path in undone.ignored:
        talk(f"not covered: {path} changed since the run began; {NOT_HELD}")
    verb = "Redid" if redo else "Undid"
    talk(f"{verb} {', '.join(undone.runs) or undone.run_id}.")
    return exits.NOT_DONE if undone.kept or undone.uncovered else exits.OK


async def _undo(url: str | None, name: str, redo: bool) -> Undone:
    async with open_records(url) as store:
        row = await find_run(store, name, near=Path.cwd())
        if name == "last" and not await works_near(store, row, Path.cwd()):
            raise UserError(
                f"No run worked here. The newest was elsewhere: bridle undo {row.run_id}"
            )
        undo = await open_undo(store, row)
        run_id = row.run_id
        if name == "last":
            run_id = await undo.latest(row.thread_id, redo=redo)
        return await (undo.redo(run_id) if redo else undo.undo(run_id))
