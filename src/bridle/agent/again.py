"""Ask the agent again: its answer has not the asked form, or checks failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.agent.termination import Stop
from bridle.types import events as ev
from bridle.types.content import Text
from bridle.types.ids import message_id
from bridle.types.json_schema import Schema
from bridle.types.messages import Message
from bridle.types.output import OUTPUT, ROUND, answer_body
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from typing import Any

    from bridle.journal.run_state import RunState

OUTPUT_TRIES = 1
KEPT = 4000
MALFORMED = "The answer does not have the asked form"


def output_problem(text: str, schema: dict[str, Any]) -> str | None:
    """Why an answer does not have the asked form."""
    try:
        value = msgspec.json.decode(answer_body(text))
    except msgspec.DecodeError as error:
        return f"it is not JSON ({error})"
    try:
        problems = Schema(schema).problems(value)
    except ValueError:  # of a type whose schema says more than is known here: the type decides
        return None
    return "; ".join(problems[:5]) if problems else None


def reformed(run: RunState, schema: dict[str, Any]) -> tuple[ev.Event, ...] | Stop:
    """What follows an answer that should have a form: nothing, another try, or the end."""
    problem = output_problem(run.last.text if run.last is not None else "", schema)
    if problem is None:
        return ()
    if run.retold < OUTPUT_TRIES and _may_go_on(run):
        return _told(
            run,
            OUTPUT,
            f"{MALFORMED}: {problem}. Answer again with only the JSON, without any other text.",
        )
    return Stop("error", Failure(type="output_invalid", message=f"{MALFORMED}: {problem}"))


def another_round(run: RunState) -> tuple[ev.Event, ...]:
    """Failed checks are sent back, as often as the run was started with."""
    failed = [check for check in run.checks.values() if not check.passed]
    if not failed or run.rounds >= run.start.check_rounds or not _may_go_on(run):
        return ()
    parts = [
        f"The check {check.name!r} failed with exit code {check.exit_code}:\n{check.output[-KEPT:]}"
        for check in failed
    ]
    return _told(run, ROUND, "\n\n".join([*parts, "Correct this; the checks will run again."]))


def _may_go_on(run: RunState) -> bool:
    """Within the limits: a run that may make no further request is told nothing."""
    return run.steps < run.start.limits.max_steps


def _told(run: RunState, part: str, text: str) -> tuple[ev.Event, ...]:
    name = message_id(run.run_id, run.steps, part)
    message = Message(id=name, role="user", parts=(Text(text),))
    return (
        ev.MessageStarted(run_id=run.run_id, message_id=name, role="user"),
        ev.MessageEnded(run_id=run.run_id, message=message),
    )
