"""`bridle threads`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import click

from bridle.app.records import open_records
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import json_line, short, table

if TYPE_CHECKING:
    from bridle.types.threads import Thread


@click.command(epilog="Example: bridle threads --all")
@click.option("--all", "everything", is_flag=True, help="Also the threads of subagents.")
@json_option
@store_option
def command(everything: bool, as_json: bool, store: str | None) -> None:
    """List threads, newest first."""
    threads = anyio.run(_threads, store, everything)
    if as_json:
        json_line([_row(thread) for thread in threads])
        return
    table(
        ("THREAD", "MESSAGES", "UPDATED", "RESOURCE", "TITLE"),
        [
            (t.id, str(t.messages), t.updated_at[:19], t.resource_id, short(t.title))
            for t in threads
        ],
    )


def _row(thread: Thread) -> dict[str, Any]:
    return {
        "thread_id": thread.id,
        "title": thread.title,
        "resource_id": thread.resource_id,
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "messages": thread.messages,
    }


async def _threads(url: str | None, everything: bool) -> list[Thread]:
    async with open_records(url) as store:
        return await store.threads(hidden=everything)
