"""`bridle validate [FILE]`."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from bridle.app.policy import spec_schema, validate
from bridle.app.ruling import RunOptions
from bridle.errors import SpecError, UserError
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.options import json_option
from bridle.surfaces.cli.output import data, json_line, talk
from bridle.types.words import counted


@click.command(epilog="Example: bridle validate harness.yaml")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of harness.yaml instead.")
@json_option
def command(file: Path | None, schema: bool, as_json: bool) -> int:
    """Check FILE (the harness.yaml here) strictly, and run its policy tests.

    Exits 2 with the file and the line of the first mistake.
    """
    if schema:
        data(msgspec.json.format(msgspec.json.encode(spec_schema()), indent=2).decode())
        return exits.OK
    try:
        found = validate(RunOptions(spec=file))
    except UserError as error:
        if not as_json:
            raise
        line = error.line if isinstance(error, SpecError) else None
        json_line([{"valid": False, "problems": [{"line": line, "message": str(error)}]}])
        return exits.USAGE
    problems = [
        f"{test.source}: policy test {test.call} expects {test.expect}, got {test.effect} "
        f"by {test.rule}"
        for test in found.tests.tests
        if not test.passed
    ]
    if as_json:
        rows = [{"line": None, "message": problem} for problem in problems]
        json_line([{"valid": not problems, "file": found.tests.file, "problems": rows}])
    for problem in problems:
        talk(f"bridle: {problem}")
    if problems:
        return exits.USAGE
    if not as_json:
        data(
            f"{found.tests.file} is valid; {counted(len(found.tests.tests), 'policy test')} passed"
        )
    return exits.OK
