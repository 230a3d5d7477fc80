"""`bridle explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from bridle.app.policy import explain
from bridle.app.ruling import RunOptions
from bridle.surfaces.cli.options import json_option, spec_option
from bridle.surfaces.cli.output import data, json_line, talk

if TYPE_CHECKING:
    from pathlib import Path

    from bridle.app.policy import Explained


@click.command(epilog="Example: bridle explain")
@spec_option
@json_option
def command(spec: Path | None, as_json: bool) -> None:
    """Print what holds for a run here: model, limits, sandbox, and every rule in its order.

    It is printed from the compiled object that the gate itself uses.
    """
    found = explain(RunOptions(spec=spec))
    if as_json:
        row = msgspec.to_builtins(found)
        del row["policy_text"]
        json_line([row])
        return
    data(f"name      {found.name}")
    data(f"spec      {found.spec or '(none: the defaults)'}")
    chain = " → ".join([found.model or "(none)", *found.fallbacks])
    data(f"model     {chain}" + (f" ({found.model_from})" if found.model else ""))
    if found.model is None:
        talk(found.model_from)
    data(f"sandbox   {found.sandbox}, network {found.network}")
    limits = [f"{key} {value}" for key, value in msgspec.structs.asdict(found.limits).items()
              if value is not None]  # fmt: skip
    data(f"limits    {', '.join(limits)}")
    data(f"checks    {_checks(found)}")
    for step in found.check_steps if found.checks else ():
        data(f"            {step}")
    if found.instruction_files is not None:
        data(f"context   {', '.join(found.instruction_files) or 'no instruction files'}")
    if found.store is not None:
        data(f"store     {found.store}")
    data(f"tools     {'coding' if found.tools else 'none'}")
    for line in found.hooks:
        data(f"hook      {line}")
    data(found.policy_text)


def _checks(found: Explained) -> str:
    if not found.checks:
        return "off"
    rounds = f", failures go back {found.max_rounds} times" if found.max_rounds else ""
    counts = "decide the exit code" if found.fail_on_error else "do not change the exit code"
    return f"on; failures {counts}{rounds}"
