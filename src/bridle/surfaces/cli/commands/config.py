"""`bridle config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from bridle.app.coding import RunOptions
from bridle.app.settings import explain_setting, settings
from bridle.surfaces.cli.options import json_option, spec_option
from bridle.surfaces.cli.output import json_line, short, table

if TYPE_CHECKING:
    from pathlib import Path


@click.command(epilog="Example: bridle config --explain limits.max_steps")
@click.option("--explain", "key", metavar="KEY", help="Only this setting or section.")
@spec_option
@json_option
def command(key: str | None, spec: Path | None, as_json: bool) -> None:
    """Print the settings that hold here, each with its value and where that comes from."""
    options = RunOptions(spec=spec)
    found = settings(options) if key is None else explain_setting(options, key)
    if as_json:
        json_line([msgspec.to_builtins(one) for one in found])
        return
    table(
        ("KEY", "VALUE", "LAYER", "FROM"),
        [
            (one.key, short(msgspec.json.encode(one.value).decode()), one.layer, one.source or "-")
            for one in found
        ],
    )
