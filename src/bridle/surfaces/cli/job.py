"""Do one job with a harness and print it: what `run` and `fix` share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bridle.app.coding import RunOptions, coding_harness
from bridle.errors import ConfigError, UserError
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.interact import answer_all, can_ask
from bridle.surfaces.cli.output import data, json_line, talk
from bridle.surfaces.cli.render import Progress, result_json
from bridle.surfaces.cli.signals import Signals
from bridle.types.base import Fixed
from bridle.types.events import AnyEvent, encode_event

if TYPE_CHECKING:
    from bridle.app.harness import Harness
    from bridle.app.results import Pending, RunResult
    from bridle.app.session import Session
    from bridle.runs.summary import RunSummary

FORMATS = ("text", "json", "stream-json")


class Job(Fixed, frozen=True, kw_only=True):
    """What to do and how to print it."""

    task: str | None
    resume: bool
    thread: str | None
    format: str
    must_verify: bool = False


async def do(options: RunOptions, job: Job) -> int:
    """Run a job to its end, or until it rests; returns the exit code."""
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
        summary = await session.summary(run_id)
    if signals.exit_code is not None and summary.reason is None:
        talk("stopped; go on with: bridle run --continue")
        return signals.exit_code
    code = exits.exit_code(result.reason, result.verdict, result.error)
    if code == exits.OK and job.must_verify and result.verdict != "verified":
        code = exits.NOT_DONE
    _print(job, summary, result, code)
    return code


async def _session(harness: Harness, job: Job) -> Session:
    if job.thread is not None:
        return await harness.session(thread_id=job.thread)
    try:
        return await harness.session(new=not job.resume, create=not job.resume)
    except ConfigError as error:
        raise UserError("There is nothing to continue here. Start with: bridle run TASK") from error


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


def _print(job: Job, summary: RunSummary, result: RunResult[Any], code: int) -> None:
    if job.format == "text":
        if result.text:
            data(result.text)
        _closing(result)
        return
    line = result_json(summary, result, code=code)
    json_line({"type": "result", **line} if job.format == "stream-json" else line)


def _what(pending: Pending) -> str:
    """What waits, in a line."""
    shown = pending.args.get("question") or pending.args.get("title")
    asked = pending.kind in ("question", "plan")
    return str(shown if asked and shown else pending.card.get("title", pending.tool))


def _how(pending: Pending) -> str:
    """The command that answers it."""
    match pending.kind:
        case "question":
            return f"bridle answer {pending.id} TEXT"
        case "plan":
            return f"bridle answer {pending.id} --approve"
        case "approval":
            return f"bridle approve {pending.id}"
        case _:
            return f"{pending.id} waits for its tool"


def _closing(result: RunResult[Any]) -> None:
    for pending in result.pending:
        talk(f"waiting for you: {_what(pending)}\n  {_how(pending)}")
    if result.error is not None:
        talk(f"bridle: {result.error.type}: {result.error.message}")
    talk(
        f"{result.reason}{f', {result.verdict}' if result.verdict else ''}: {result.steps} steps, "
        f"{result.usage.total_tokens} tokens, {result.cost_usd:.4f} USD"
    )
    if result.pending:
        talk("then: bridle run --continue")
