"""`bridle run`: the main job in one command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from bridle.errors import UserError
from bridle.surfaces.cli.harness_options import harness_options, options_of
from bridle.surfaces.cli.options import FORMATS


@click.command(epilog="Example: bridle run 'make the tests pass' --max-steps 30")
@click.argument("task", required=False)
@click.option("-p", "prompt", metavar="TASK", help="The task, as an option.")
@click.option("--continue", "resume", is_flag=True, help="Go on with the newest thread here.")
@click.option("--thread", help="Go on with this thread.")
@click.option(
    "--output-format", "format_", type=click.Choice(FORMATS), default="text", show_default=True
)
@click.option(
    "--output-schema",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A JSON Schema that the answer must fit; `output` holds it.",
)
@click.option("--no-input", is_flag=True, help="Nobody can answer: what would be asked is denied.")
@click.option("--single-step", is_flag=True, help="Rest after one request and its calls.")
@harness_options
def command(
    task: str | None,
    prompt: str | None,
    resume: bool,
    thread: str | None,
    format_: str,
    **flags: Any,
) -> int:
    """Give the agent TASK in this directory, and get a result with a reason and a verdict.

    TASK is a text, `@FILE`, or `-` for the standard input, which is also read where no TASK is
    given. With --continue and no TASK, the open run goes on.
    """
    if resume and thread is not None:
        raise click.UsageError("Give --continue or --thread, not both.")
    import anyio

    from bridle.surfaces.cli.job import Job, do

    options = options_of(
        flags,
        answerable=not flags["no_input"],
        output_schema=read_schema(flags["output_schema"]),
    )
    job = Job(
        task=_task(task, prompt, resume=resume or thread is not None),
        resume=resume,
        thread=thread,
        format=format_,
        mode=flags["mode"],
        single_step=flags["single_step"],
    )
    return anyio.run(do, options, job)


def _task(task: str | None, prompt: str | None, *, resume: bool) -> str | None:
    if task is not None and prompt is not None:
        raise click.UsageError("Give the task once: as an argument or with -p.")
    given = _read(task if task is not None else prompt)
    if given is None and not sys.stdin.isatty() and not resume:
        given = _standard_input()
    if (given is None and not resume) or (given is not None and not given.strip()):
        raise click.UsageError("There is no task. Give one: bridle run 'fix the failing test'")
    return given


def _read(given: str | None) -> str | None:
    """What a task stands for: itself, a file, or the standard input."""
    if given == "-":
        return _standard_input()
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The task cannot be read from {given[1:]!r}: {error}") from error


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UserError(f"The task on the standard input is not UTF-8 text: {error}") from error


def read_schema(path: Path | None) -> dict[str, Any] | None:
    """Read a JSON Schema; one that could not be kept to the last word is refused."""
    if path is None:
        return None
    import msgspec

    from bridle.types.json_schema import Schema

    try:
        body = msgspec.json.decode(path.read_bytes())
        Schema(body)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not a schema that can be used: {error}") from error
    if not isinstance(body, dict):
        raise UserError(f"{path} is not a schema that can be used: it is not an object")
    return body
