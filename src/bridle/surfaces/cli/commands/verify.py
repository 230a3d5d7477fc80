"""`bridle verify RUN|BUNDLE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from bridle.app.records import find_run, open_archive
from bridle.runs.bundle import verify_bundle
from bridle.runs.tree import read_tree
from bridle.runs.verify import verify
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line, talk
from bridle.types.words import counted

if TYPE_CHECKING:
    from bridle.runs.verify import Verified


@click.command(epilog="Example: bridle verify last")
@click.argument("run", metavar="RUN|BUNDLE")
@click.option("--head", help="The hash that the log is known to have ended with.")
@json_option
@store_option
def command(run: str, head: str | None, as_json: bool, store: str | None) -> int:
    """Recompute the hash chain of RUN's thread and of its subagents, or check a BUNDLE offline.

    Exits 1 and names the first event that was changed or is missing.
    """
    path = Path(run)
    written = path.is_file() and run != "last"
    found = verify_bundle(path) if written else anyio.run(_verify, store, run)
    other = head is not None and not (head and found.head.startswith(head))
    if as_json:
        json_line([{**msgspec.to_builtins(found), "ok": not found.problems and not other}])
    for problem in found.problems:
        talk(f"broken: {problem}")
    if other:
        talk(f"broken: the log ends with {found.head}, not with {head}")
    if found.problems or other:
        return exits.FAILED
    if not as_json:
        data(
            f"ok: {counted(found.events, 'event')} in {counted(found.threads, 'thread')}, "
            f"{counted(found.blobs, 'blob')}, "
            f"head {found.head}"
        )
    return exits.OK


async def _verify(url: str | None, name: str) -> Verified:
    async with open_archive(url) as (store, artefacts):
        row = await find_run(store, name, near=Path.cwd())
        tree = await read_tree(store, row.thread_id, run_id=row.run_id, artefacts=artefacts)
        return verify(tree)
