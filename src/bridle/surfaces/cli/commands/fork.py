"""`bridle fork RUN[@SEQ] [NAME]`."""

from __future__ import annotations

import shlex
from pathlib import Path

import anyio
import click
import msgspec

from bridle.app.changes import read_changes, write_local
from bridle.app.forking import Forked, fork
from bridle.app.records import find_run, open_records
from bridle.errors import ConfigError
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line, talk
from bridle.types.words import counted


@click.command(epilog="Example: bridle fork last@12 other-way")
@click.argument("run", metavar="RUN[@SEQ]")
@click.argument("name", required=False)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Another setting there, such as model_policy.primary=openai/gpt-4o. Repeatable.",
)
@click.option("--into", type=click.Path(path_type=Path), help="The new directory.")
@json_option
@store_option
def command(
    run: str,
    name: str | None,
    changes: tuple[str, ...],
    into: Path | None,
    as_json: bool,
    store: str | None,
) -> int:
    """Go on from an earlier event: conversation and files as of then, in a copy.

    The copy is a new thread and a new directory beside the project: a git worktree, or a plain one
    where there is no repository. The project and RUN are not touched. Settings of --set hold in the
    copy only: they are written to its .bridle/local/config.yaml. Exits 3 when a later change
    could not be taken back in the copy.
    """
    settings = read_changes(changes)
    found = anyio.run(_fork, store, run, name, into)
    if settings:
        write_local(Path(found.directory), settings)
    if as_json:
        json_line([msgspec.to_builtins(found)])
    else:
        data(found.directory)
    for text in found.kept:
        talk(f"not taken back: {text}")
    talk(f"forked {found.forked_from} to {found.thread_id}, {counted(found.messages, 'message')}")
    talk(f"go on with: cd {shlex.quote(found.directory)} && bridle run --continue TASK")
    return exits.NOT_DONE if found.kept else exits.OK


async def _fork(url: str | None, place: str, name: str | None, into: Path | None) -> Forked:
    run, at, number = place.partition("@")
    if at and not number.isdecimal():
        raise ConfigError(f"{place!r} is not an event of a run; write RUN@SEQ, as in last@12.")
    async with open_records(url) as store:
        row = await find_run(store, run, near=Path.cwd())
        return await fork(store, row, seq=int(number) if at else None, name=name, directory=into)
