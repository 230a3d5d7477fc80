"""`bridle run`: the main job in one command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec

from bridle.app.coding import RunOptions
from bridle.errors import UserError
from bridle.surfaces.cli.backends import check_backend
from bridle.surfaces.cli.job import FORMATS, Job, do
from bridle.types.limits import DEFAULT_MAX_STEPS, Limits


@click.command(epilog="Example: bridle run 'make the tests pass' --max-steps 30")
@click.argument("task", required=False)
@click.option("-p", "prompt", metavar="TASK", help="The task, as an option.")
@click.option("--spec", type=click.Path(path_type=Path), help="A harness.yaml.")
@click.option("--model", help="provider/model, or scripted/FILE.")
@click.option("--backend", default="builtin", help="What runs the loop; builtin is the only one.")
@click.option("--mode", help="The mode to work in.")
@click.option("--provider", help="A provider, with its default model or the one of --model.")
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
@click.option("--profile", help="strict, balanced, auto-edit, yolo or deny.")
@click.option("--yolo", is_flag=True, help="Ask for nothing; denies still hold.")
@click.option("--no-input", is_flag=True, help="Nobody can answer: what would be asked is denied.")
@click.option("--trust", is_flag=True, help="Trust the project's harness.yaml as it is now.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True))
@click.option("--max-steps", type=click.IntRange(min=1))
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS")
@click.option("--single-step", is_flag=True, help="Rest after one request and its calls.")
@click.option("--no-checks", is_flag=True, help="Do not run the project's checks.")
@click.option("--sandbox", help="auto, bubblewrap, landlock, read-only, no-shell or none.")
@click.option("--store", metavar="KIND|URL", help="Where the record goes.")
@click.option("--cwd", type=click.Path(path_type=Path), default=Path(), help="Work there.")
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
    check_backend(flags["backend"])
    job = Job(
        task=_task(task, prompt, resume=resume or thread is not None),
        resume=resume,
        thread=thread,
        format=format_,
        mode=flags["mode"],
        single_step=flags["single_step"],
    )
    return anyio.run(do, _options(flags), job)


def _task(task: str | None, prompt: str | None, *, resume: bool) -> str | None:
    if task is not None and prompt is not None:
        raise click.UsageError("Give the task once: as an argument or with -p.")
    given = _read(task if task is not None else prompt)
    if given is None and not sys.stdin.isatty() and not resume:
        given = sys.stdin.read()
    if given is not None and not given.strip():
        given = None
    if given is None and not resume:
        raise click.UsageError("There is no task. Give one: bridle run 'fix the failing test'")
    return given


def _read(given: str | None) -> str | None:
    """What a task stands for: itself, a file, or the standard input."""
    if given == "-":
        return sys.stdin.read()
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The task cannot be read from {given[1:]!r}: {error}") from error


def read_schema(path: Path | None) -> dict[str, Any] | None:
    """Read a JSON Schema; one that could not be kept to the last word is refused."""
    if path is None:
        return None
    from bridle.types.json_schema import Schema

    try:
        body = msgspec.json.decode(path.read_bytes())
        Schema(body)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not a schema that can be used: {error}") from error
    if not isinstance(body, dict):
        raise UserError(f"{path} is not a schema that can be used: it is not an object")
    return body


def _options(flags: dict[str, Any]) -> RunOptions:
    return RunOptions(
        cwd=flags["cwd"],
        spec=flags["spec"],
        model=flags["model"],
        provider=flags["provider"],
        store=flags["store"],
        profile=flags["profile"],
        sandbox=flags["sandbox"],
        yolo=flags["yolo"],
        answerable=not flags["no_input"],
        trust=flags["trust"],
        limits=Limits(
            max_steps=flags["max_steps"] or DEFAULT_MAX_STEPS,
            max_usd=flags["max_usd"],
            timeout=flags["timeout"],
        ),
        checks=not flags["no_checks"],
        output_schema=read_schema(flags["output_schema"]),
    )
