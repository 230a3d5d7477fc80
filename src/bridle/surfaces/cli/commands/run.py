"""`bridle run`: the main job in one command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import click

from bridle.app.coding import RunOptions
from bridle.surfaces.cli.job import FORMATS, Job, do
from bridle.types.limits import DEFAULT_MAX_STEPS, Limits


@click.command(epilog="Example: bridle run 'make the tests pass' --max-steps 30")
@click.argument("task", required=False)
@click.option("-p", "prompt", metavar="TASK", help="The task, as an option.")
@click.option("--spec", type=click.Path(path_type=Path), help="A harness.yaml.")
@click.option("--model", help="provider/model, or scripted/FILE.")
@click.option("--provider", help="A provider, with its default model or the one of --model.")
@click.option("--continue", "resume", is_flag=True, help="Go on with the newest thread here.")
@click.option("--thread", help="Go on with this thread.")
@click.option(
    "--output-format", "format_", type=click.Choice(FORMATS), default="text", show_default=True
)
@click.option("--profile", help="strict, balanced, auto-edit, yolo or deny.")
@click.option("--yolo", is_flag=True, help="Ask for nothing; denies still hold.")
@click.option("--no-input", is_flag=True, help="Nobody can answer: what would be asked is denied.")
@click.option("--trust", is_flag=True, help="Trust the project's harness.yaml as it is now.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True))
@click.option("--max-steps", type=click.IntRange(min=1))
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS")
@click.option("--no-checks", is_flag=True, help="Do not run the project's checks.")
@click.option("--sandbox", help="auto, bubblewrap, landlock, read-only, no-shell or none.")
@click.option("--store", metavar="URL", help="Where the record goes, if not your own store.")
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

    With --continue and no TASK, the open run goes on.
    """
    job = Job(
        task=_task(task, prompt, resume=resume or thread is not None),
        resume=resume,
        thread=thread,
        format=format_,
    )
    return anyio.run(do, _options(flags), job)


def _task(task: str | None, prompt: str | None, *, resume: bool) -> str | None:
    if task is not None and prompt is not None:
        raise click.UsageError("Give the task once: as an argument or with -p.")
    given = task if task is not None else prompt
    if given is None and not sys.stdin.isatty() and not resume:
        given = sys.stdin.read()
    if given is not None and not given.strip():
        given = None
    if given is None and not resume:
        raise click.UsageError("There is no task. Give one: bridle run 'fix the failing test'")
    return given


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
    )
