"""`bridle run`: the main job in one command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from bridle.app.coding import RunOptions, coding_harness
from bridle.errors import ConfigError, UserError
from bridle.runs.summary import RunSummary, summarise
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.interact import answer_all, can_ask
from bridle.surfaces.cli.output import data, json_line, talk
from bridle.surfaces.cli.render import Progress, result_json
from bridle.surfaces.cli.signals import Signals
from bridle.types.base import Fixed
from bridle.types.events import AnyEvent, encode_event
from bridle.types.limits import DEFAULT_MAX_STEPS, Limits

if TYPE_CHECKING:
    from bridle.app.harness import Harness
    from bridle.app.results import RunResult
    from bridle.app.session import Session

FORMATS = ("text", "json", "stream-json")


class Job(Fixed, frozen=True, kw_only=True):
    """What to do and how to print it."""

    task: str | None
    resume: bool
    thread: str | None
    format: str


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
    return anyio.run(_main, _options(flags), job)


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
        limits=Limits(
            max_steps=flags["max_steps"] or DEFAULT_MAX_STEPS,
            max_usd=flags["max_usd"],
            timeout=flags["timeout"],
        ),
        checks=not flags["no_checks"],
    )


async def _main(options: RunOptions, job: Job) -> int:
    harness = coding_harness(options)
    async with harness:
        signals = Signals(harness.pause)
        session = await _session(harness, job)
        signals.install()
        run_id = await _begin(session, job)
        result = await session.wait(run_id)
        asks = job.format == "text" and options.answerable and can_ask()
        while asks and result.pending and signals.received is None:
            if not await answer_all(session, result):
                break
            result = await session.wait(run_id)
        summary = await _summary(session, run_id)
    if signals.exit_code is not None and summary.reason is None:
        talk("stopped; go on with: bridle run --continue")
        return signals.exit_code
    code = exits.exit_code(result.reason, result.verdict, result.error)
    _print(job, summary, result, code)
    return code


async def _session(harness: Harness, job: Job) -> Session:
    if job.thread is not None:
        return await harness.session(thread_id=job.thread)
    session = await harness.session(new=not job.resume)
    if job.resume and job.task is None and not session.threads.current.messages:
        raise UserError("There is nothing to continue here. Start with: bridle run TASK")
    return session


async def _begin(session: Session, job: Job) -> str:
    """Admit the task, or wake what was left unfinished; returns the run to wait for."""
    session.events.subscribe(_listener(job))
    if job.task is not None:
        run = session.start(job.task)
        talk(f"run {run.id}")
        await run.begin()
        return run.id
    open_run = await session.open_run()
    if open_run is None:
        raise ConfigError("The thread has no open run. Send something: bridle run --continue TASK")
    talk(f"run {open_run}")
    await session.resume()
    return open_run


def _listener(job: Job) -> Any:
    if job.format == "stream-json":
        return _stream
    return Progress() if job.format == "text" else _silent


def _stream(event: AnyEvent) -> None:
    sys.stdout.buffer.write(encode_event(event) + b"\n")
    sys.stdout.flush()


def _silent(event: AnyEvent) -> None:
    del event


async def _summary(session: Session, run_id: str) -> RunSummary:
    return summarise(run_id, await session.run_events(run_id))


def _print(job: Job, summary: RunSummary, result: RunResult[Any], code: int) -> None:
    if job.format == "text":
        if result.text:
            data(result.text)
        _closing(result)
        return
    line = result_json(summary, result, code=code)
    json_line({"type": "result", **line} if job.format == "stream-json" else line)


def _closing(result: RunResult[Any]) -> None:
    for pending in result.pending:
        title = pending.card.get("title", pending.tool)
        talk(f"waiting for you: {title}\n  bridle approve {pending.id}")
    if result.error is not None:
        talk(f"bridle: {result.error.type}: {result.error.message}")
    talk(
        f"{result.reason}{f', {result.verdict}' if result.verdict else ''}: {result.steps} steps, "
        f"{result.usage.total_tokens} tokens, {result.cost_usd:.4f} USD"
    )
    if result.pending:
        talk("then: bridle run --continue")
