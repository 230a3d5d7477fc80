"""Do one job with a harness and print it: what `run` and `fix` share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.ahead import load_ahead
from bridle.app.coding import Coding, build_coding
from bridle.app.harness import Harness
from bridle.app.resuming import with_open_model
from bridle.errors import BridleError, ConfigError, UserError
from bridle.surfaces.cli import exits
from bridle.surfaces.cli.closing import closing
from bridle.surfaces.cli.interact import answer_all, can_ask, confirm_trust
from bridle.surfaces.cli.output import data, json_line, talk
from bridle.surfaces.cli.render import refusal_json, result_json
from bridle.surfaces.cli.signals import Signals
from bridle.surfaces.cli.stepping import OneStep
from bridle.types.base import Fixed
from bridle.types.events import (
    AnyEvent,
    DisplayStateChanged,
    ModelFellBack,
    Noted,
    ToolReturned,
    encode_event,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.app.results import RunResult
    from bridle.app.ruling import RunOptions
    from bridle.app.session import Session
    from bridle.runs.summary import RunSummary
    from bridle.surfaces.cli.progress import Progress


class Job(Fixed, frozen=True, kw_only=True):
    """What to do and how to print it."""

    task: str | None
    resume: bool
    thread: str | None
    format: str
    mode: str | None = None
    single_step: bool = False
    must_verify: bool = False


async def do(options: RunOptions, job: Job) -> int:
    """Run a job to its end, or until it rests; returns the exit code."""
    try:
        return await _do(options, job)
    except BridleError as error:
        if job.format != "text":  # who reads the result finds out there too
            _print_result(job, refusal_json(error))
        raise


async def _do(options: RunOptions, job: Job) -> int:
    if job.task is None:
        options = await with_open_model(options, job.thread)
    asks = job.format == "text" and options.answerable and can_ask()
    if asks:
        options = msgspec.structs.replace(options, confirm=confirm_trust)
    coding = build_coding(options, Harness)
    harness = coding.harness
    progress = _progress(job, coding)
    if job.mode is not None:
        harness.check_mode(job.mode)
    async with harness:
        signals = Signals(harness.pause)
        session = await _session(harness, job)
        signals.install()
        step = OneStep(harness.pause)
        _listen(session, job, progress, step)
        run_id = await _begin(session, job, coding)
        result = await session.wait(run_id)
        while asks and result.pending and signals.received is None:
            if progress is not None:
                progress.finish()
            if not await signals.asking(answer_all(session, result)):
                break
            result = await session.wait(run_id)
        summary = await session.summary(run_id)
        files = await session.checkpoints.changed(run_id, summary.files)
    code = _code(job, coding, summary, result, signals)
    rests = step.rested and summary.reason is None and not result.pending
    if rests and code == exits.AWAITING:
        code = exits.OK
    if progress is not None:
        progress.finish()
    stopped = _stopped(signals, summary)
    if stopped:
        talk("stopped; go on with: bridle run --continue")
    if job.format != "text":
        _print_result(job, result_json(summary, result, code=code, files=files), summary)
    elif not stopped:
        _print_text(result, files, coding, summary, progress, rests=rests)
    return code


def _print_text(
    result: RunResult[Any],
    files: Sequence[str],
    coding: Coding,
    summary: RunSummary,
    progress: Progress | None,
    *,
    rests: bool,
) -> None:
    """The answer, unless it was seen word by word, and how the run ended."""
    streamed = progress is not None and sys.stdout.isatty() and progress.streamed == result.text
    if result.text and not streamed:
        data(result.text)
    closing(
        result,
        files,
        rests=rests,
        unchecked=_unchecked(coding, summary),
        checks=summary.checks,
        model=summary.model,
    )


def _print_result(job: Job, line: dict[str, Any], summary: RunSummary | None = None) -> None:
    json_line({"type": "result", **line} if job.format == "stream-json" else line)
    if summary is not None and not summary.cost_known:
        talk(f"the price of {summary.model} is not known: cost_usd does not count it")


def _stopped(signals: Signals, summary: RunSummary) -> bool:
    """Whether a signal made the run rest before its end."""
    return signals.exit_code is not None and summary.reason is None


def _code(
    job: Job, coding: Coding, summary: RunSummary, result: RunResult[Any], signals: Signals
) -> int:
    if signals.exit_code is not None and _stopped(signals, summary):
        return signals.exit_code
    code = exits.exit_code(
        result.reason, result.verdict, result.error, fail_on_error=coding.fail_on_error
    )
    if code == exits.OK and job.must_verify and result.verdict != "verified":
        return exits.NOT_DONE
    return code


async def _session(harness: Harness, job: Job) -> Session:
    if job.thread is not None:
        return await harness.session(thread_id=job.thread)
    try:
        return await harness.session(new=not job.resume, create=not job.resume)
    except ConfigError as error:
        raise UserError("There is nothing to continue here. Start with: bridle run TASK") from error


async def _begin(session: Session, job: Job, coding: Coding) -> str:
    """Admit the task, or wake what was left unfinished; returns the run to wait for."""
    if job.mode is not None:
        await session.modes.switch(job.mode)
    if job.task is not None:
        run = session.start(job.task, model=coding.model)
        talk(f"run {run.id}")
        for text in coding.said if job.format == "text" else ():
            talk(text)
        await run.begin()
        if coding.remote:
            load_ahead()
        return run.id
    open_run = await session.open_run()
    if open_run is None:
        raise ConfigError("The thread has no open run. Send something: bridle run --continue TASK")
    begun = (await session.summary(open_run)).model
    if coding.model is not None and begun is not None and coding.model != begun:
        raise UserError(
            f"The open run goes on with {begun}, which it began with. Leave the model out, or send "
            "something: bridle run --continue TASK"
        )
    talk(f"run {open_run}")
    await session.resume()
    return open_run


def _progress(job: Job, coding: Coding) -> Progress | None:
    """What a person at a terminal sees; a pipe gets the result and warnings."""
    if job.format != "text" or not sys.stderr.isatty():
        return None
    from bridle.surfaces.cli.progress import Progress

    return Progress(coding.root)


def _listen(session: Session, job: Job, progress: Progress | None, step: OneStep) -> None:
    if job.format == "stream-json":
        session.events.subscribe(_Stream())
    if progress is not None:
        session.events.subscribe(progress)
    elif job.format == "text":
        session.events.subscribe(_warn)
    if job.single_step:
        session.events.subscribe(step)


class _Stream:
    """Prints events until nobody can read them; the run goes on, and its last line tells."""

    def __init__(self) -> None:
        self._open = True

    def __call__(self, event: AnyEvent) -> None:
        if not self._open or isinstance(event, DisplayStateChanged):
            return  # who reads a stream has no session to look at
        try:
            sys.stdout.buffer.write(encode_event(event) + b"\n")
            sys.stdout.flush()
        except OSError:  # the result cannot be printed either, which ends with an error
            self._open = False


def _warn(event: AnyEvent) -> None:
    """What also a log should say, such as a call of unknown outcome or another model."""
    if isinstance(event, ModelFellBack):
        talk(f"{event.to_model} answers instead: {event.why}")
    elif isinstance(event, Noted):
        talk(event.text)
    elif isinstance(event, ToolReturned) and event.ambiguous:
        talk(f"{event.tool}: {event.result}")


def _unchecked(coding: Coding, summary: RunSummary) -> str | None:
    """Why a result that could have been checked was not."""
    if summary.verdict != "claimed" or not coding.finds_checks:
        return None
    from bridle.app.coding import unchecked

    return unchecked(coding.root)
