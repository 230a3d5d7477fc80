"""Whether a run that would end may: or is asked again for the form, by a hook, or by a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.agent.ending import stopped_calls
from bridle.agent.hooked import Hooked, halt_failure
from bridle.agent.termination import NATURAL, Stop
from bridle.types import events as ev
from bridle.types.base import Fixed
from bridle.types.content import Text
from bridle.types.ids import message_id
from bridle.types.json_schema import Schema
from bridle.types.messages import Message
from bridle.types.output import OUTPUT, ROUND, answer_body
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from typing import Any

    from bridle.agent.ending import Ending
    from bridle.agent.setup import Checks, RunSetup
    from bridle.agent.working import Working
    from bridle.journal.recorder import ThreadLog
    from bridle.journal.run_state import RunState

OUTPUT_TRIES = 1
KEPT = 4000
MALFORMED = "The answer does not have the asked form"


class Closing(Fixed, frozen=True, kw_only=True):
    """Takes a run from its last step to its end, unless something asks for more."""

    log: ThreadLog
    ending: Ending
    working: Working

    async def close(self, run: RunState, setup: RunSetup, stop: Stop) -> None:
        """End the run, or record what it is asked instead."""
        schema = setup.head.settings.output_schema
        if schema is not None and stop.reason == "end_turn":
            formed = reformed(run, schema)
            if isinstance(formed, tuple) and formed:
                await self.log.decide(*formed)
                return
            stop = formed if isinstance(formed, Stop) else stop
        if not await self._let_end(run, setup, stop):
            return
        if stop.reason in NATURAL:
            if not await self._checked(run, setup):
                return
            again = another_round(run)
            if again:
                await self.log.decide(*again)
                return
        await self.ending.end(run, stop)

    async def halt(self, run: RunState, halt: ev.HookRan) -> None:
        """A hook ended the run: nothing of it goes on."""
        await self.ending.end(
            run,
            Stop("safety_violation", halt_failure(halt)),
            before=stopped_calls(run, "a hook ended the run", kind="halted"),
        )

    async def _let_end(self, run: RunState, setup: RunSetup, stop: Stop) -> bool:
        """Whether hooks let the run end; an interrupt does not wait for them."""
        if setup.hooks is None:
            return True
        hooked = Hooked(log=self.log, setup=setup)
        if run.expired:
            return await hooked.close(run, stop)
        return bool(await self.working.within_time(run, lambda: hooked.close(run, stop)))

    async def _checked(self, run: RunState, setup: RunSetup) -> bool:
        """Run the checks; False when they were cut: by an interrupt, a pause or the deadline.

        A check that was cut is open, as after a crash: it runs again where the run goes on.
        """
        checks = setup.checks
        if checks is None:
            return True
        return bool(await self.working.until_paused(run, lambda: self._check(run, checks)))

    async def _check(self, run: RunState, checks: Checks) -> bool:
        """Run the checks that have no result yet; true when all have one."""
        for check in await checks.plan(run.run_id):
            if check.name not in run.checks:
                await self.log.result(check)
                await self.log.result(await checks.run(check, run.text))
        return True


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
