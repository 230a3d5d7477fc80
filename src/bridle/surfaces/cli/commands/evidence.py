"""`bridle evidence RUN`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from bridle.app.looking import gather
from bridle.app.records import find_run, open_archive
from bridle.runs.bundle import write_bundle
from bridle.runs.report import as_html, as_text
from bridle.surfaces.cli.options import json_option, store_option
from bridle.surfaces.cli.output import data, json_line, talk

if TYPE_CHECKING:
    from bridle.runs.evidence import Evidence
    from bridle.runs.tree import Tree


@click.command(epilog="Example: bridle evidence last --bundle evidence.zip")
@click.argument("run")
@click.option(
    "--format", "format_", type=click.Choice(("text", "json", "html")), default="text",
    show_default=True,
)  # fmt: skip
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write everything to this file, which `bridle verify` checks anywhere.",
)
@json_option
@store_option
def command(run: str, format_: str, bundle: Path | None, as_json: bool, store: str | None) -> None:
    """Show what RUN was asked, what was decided, changed, checked and spent."""
    tree, found = anyio.run(_gather, store, run)
    if as_json or format_ == "json":
        json_line([msgspec.to_builtins(found)])
    else:
        data(as_html(found) if format_ == "html" else as_text(found))
    if bundle is not None:
        name = write_bundle(
            bundle,
            tree,
            reports={
                "evidence.json": msgspec.json.encode(found),
                "evidence.html": as_html(found).encode(),
            },
        )
        place = shlex.quote(str(bundle))
        talk(f"wrote {bundle} (manifest {name}); check it with: bridle verify {place}")


async def _gather(url: str | None, name: str) -> tuple[Tree, Evidence]:
    async with open_archive(url) as (store, artefacts):
        return await gather(store, artefacts, await find_run(store, name, near=Path.cwd()))
