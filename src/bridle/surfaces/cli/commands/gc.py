"""`bridle gc [--dry-run]`."""

from __future__ import annotations

import anyio
import click

from bridle.app.collecting import Collected, as_objects, collect_garbage
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, table, talk
from bridle.types.words import counted

KEEP_DAYS = 30.0


@click.command(epilog="Example: bridle gc --dry-run --keep 7")
@click.option("--dry-run", is_flag=True, help="Only tell what would be dropped.")
@click.option(
    "--keep",
    default=KEEP_DAYS,
    show_default=True,
    metavar="DAYS",
    help="Runs that ended within so many days can still be undone.",
)
@json_option
@store_option
def command(dry_run: bool, keep: float, as_json: bool, store: str | None) -> None:
    """Drop what is kept for undo of old runs, artefacts that no event names, and stale temporaries.

    Events are never dropped. What a run within the kept time needs is not touched.
    """
    collected = anyio.run(_collect, store, keep, dry_run)
    if as_json:
        json_line(as_objects(collected))
        return
    rows = [
        (entry.kind, str(entry.items), f"{entry.bytes:,}", entry.place, entry.note or "")
        for entry in collected.garbage
    ]
    if rows:
        table(("WHAT", "ITEMS", "BYTES", "WHERE", ""), rows)
    verb = "Would drop" if dry_run else "Dropped"
    kept = f"{counted(collected.runs_kept, 'run')} can be undone as before"
    talk(f"{verb} {collected.total:,} bytes; {kept}.")


async def _collect(url: str | None, keep: float, dry_run: bool) -> Collected:
    return await collect_garbage(url, keep_days=keep, dry_run=dry_run)
