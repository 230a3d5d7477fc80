"""`bridle config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from bridle.app.coding import RunOptions
from bridle.app.settings import explain_setting, settings
from bridle.surfaces.cli.options import json_option, spec_option
from bridle.surfaces.cli.output import data, json_line, short, table

if TYPE_CHECKING:
    from pathlib import Path

    from bridle.app.settings import Setting


@click.command(epilog="Example: bridle config --explain limits.max_steps")
@click.option("--explain", "key", metavar="KEY", help="Only this setting or section.")
@spec_option
@json_option
def command(key: str | None, spec: Path | None, as_json: bool) -> None:
    """Print the settings that hold here, each with its value and where that comes from.

    Weakest first: defaults, the user's config.yaml, harness.yaml, .bridle/local/config.yaml, the
    environment (BRIDLE_LIMITS__MAX_STEPS=20 is limits.max_steps), flags.
    """
    options = RunOptions(spec=spec)
    found = settings(options) if key is None else explain_setting(options, key)
    if as_json:
        json_line([msgspec.to_builtins(one) for one in found])
        return
    if key is not None and len(found) == 1:
        _explain(found[0])
        return
    table(
        ("KEY", "VALUE", "LAYER", "FROM"),
        [
            (one.key, short(msgspec.json.encode(one.value).decode()), one.layer, one.source or "-")
            for one in found
        ],
    )


def _explain(one: Setting) -> None:
    data(f"{one.key} = {_text(one.value)}")
    data(f"  from {one.layer}{f', {one.source}' if one.source else ''}")
    for origin in one.overrode:
        data(f"  over {origin.layer}, {origin.source}: {_text(origin.value)}")
    if one.layer != "default":
        data(f"  over default: {_text(one.default)}")


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
