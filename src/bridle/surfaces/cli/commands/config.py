"""`bridle config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from bridle.app.ruling import RunOptions
from bridle.app.settings import explain_setting, settings
from bridle.app.trust import forget
from bridle.app.trusting import trust_all, trust_states
from bridle.surfaces.cli.options import json_option, spec_option
from bridle.surfaces.cli.output import data, json_line, short, table, talk

if TYPE_CHECKING:
    from pathlib import Path

    from bridle.app.settings import Setting


@click.group(
    invoke_without_command=True, epilog="Example: bridle config --explain limits.max_steps"
)
@click.option("--explain", "key", metavar="KEY", help="Only this setting or section.")
@spec_option
@json_option
@click.pass_context
def command(ctx: click.Context, key: str | None, spec: Path | None, as_json: bool) -> None:
    """Print the settings that hold here, each with its value and where that comes from.

    Weakest first: defaults, the user's config.yaml, harness.yaml, .bridle/local/config.yaml, the
    environment (BRIDLE_LIMITS__MAX_STEPS=20 is limits.max_steps), flags.
    """
    if ctx.invoked_subcommand is not None:
        return
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


@command.group(epilog="Example: bridle config trust list")
def trust() -> None:
    """Look at what the project in this directory brings that needs your trust."""


@trust.command("list", epilog="Example: bridle config trust list")
@spec_option
@json_option
def list_command(spec: Path | None, as_json: bool) -> None:
    """List it, each with whether it is trusted as it is now."""
    found = trust_states(RunOptions(spec=spec))
    if as_json:
        json_line([msgspec.to_builtins(one) for one in found])
        return
    table(
        ("STATE", "KIND", "NAME", "WHAT"),
        [(one.state, one.kind, one.name, one.text) for one in found],
    )


@trust.command("add", epilog="Example: bridle config trust add")
@spec_option
def add_command(spec: Path | None) -> None:
    """Trust all of it as it is now, and say what that is."""
    for one in trust_all(RunOptions(spec=spec)):
        talk(f"trusted: {one.kind} {one.name}: {one.text}")


@trust.command("remove", epilog="Example: bridle config trust remove")
def remove_command() -> None:
    """Trust none of it any more."""
    known = forget(RunOptions().root)
    talk("forgotten" if known else "nothing was trusted here")
