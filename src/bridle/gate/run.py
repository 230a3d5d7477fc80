"""Run one call that was let through, and bound what comes back. It ends in exactly one way."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.errors import ToolError
from bridle.gate.bracket import Bracket
from bridle.gate.decide import failure
from bridle.gate.live import Live
from bridle.journal.redact import NOTHING_HIDDEN, Redactor
from bridle.ports.tools import CallScope, Outcome, Recorded, Settled, Suspended, Toolbox
from bridle.tools.output import bound
from bridle.types.base import Fixed
from bridle.types.events import Event, ToolReturned
from bridle.types.tools import Done, Failed

if TYPE_CHECKING:
    from bridle.journal.calls import CallState
    from bridle.ports.artefacts import Artefacts
    from bridle.ports.clock import Clock
    from bridle.ports.snapshots import Snapshots
    from bridle.ports.store import Append

DEFAULT_TIMEOUT = 600.0
log = logging.getLogger("bridle.gate")


class Runner(Fixed, frozen=True, kw_only=True):
    """Executes calls; what they return is bounded, what they raise becomes a result."""

    toolbox: Toolbox
    artefacts: Artefacts
    clock: Clock
    snapshots: Snapshots | None = None
    redactor: Redactor = NOTHING_HIDDEN
    timeout: float = DEFAULT_TIMEOUT

    async def run(self, state: CallState, scope: CallScope) -> Settled | Suspended:
        """Run a call to its one outcome: the events that settle it, its result last."""
        began = self.clock.now()
        live = Live(self.redactor, scope)
        bracket = Bracket(self.snapshots, state.facts)
        await bracket.open()
        inner = msgspec.structs.replace(live.scope(), clock=self.clock, paths=state.facts.paths)
        outcome = self.redactor.value(await self._outcome(state, inner))
        live.flush()
        checkpoint = await bracket.close(state.call.id, scope.run_id)
        if isinstance(outcome, Suspended):
            return outcome
        events: tuple[Event, ...] = checkpoint
        appends: tuple[Append, ...] = ()
        if isinstance(outcome, Recorded):
            emitted = (
                msgspec.structs.replace(event, run_id=scope.run_id) for event in outcome.events
            )
            events = (*events, *emitted)
            appends = outcome.appends
            outcome = outcome.outcome
        took = int((self.clock.now() - began) * 1000)
        text, artefact = await bound(outcome.text, self.artefacts)
        failed = isinstance(outcome, Failed)
        returned = ToolReturned(
            run_id=scope.run_id,
            call_id=state.call.id,
            tool=state.call.tool,
            result=text,
            is_error=failed,
            denied=isinstance(outcome, Failed) and outcome.denied,
            kind=outcome.kind if isinstance(outcome, Failed) else None,
            duration_ms=took,
            artefact=artefact,
            images=outcome.images if isinstance(outcome, Done) else (),
        )
        return Settled(events=(*events, returned), appends=appends)

    async def _outcome(self, state: CallState, scope: CallScope) -> Outcome:
        seconds = self.timeout if state.facts.timeout is None else state.facts.timeout
        try:
            with anyio.move_on_after(seconds):
                return await self.toolbox.execute(state.to_run, scope)
        except ToolError as error:
            hint = f"\nHint: {error.hint}" if error.hint else ""
            return Failed(f"{error.message}{hint}", kind=error.kind)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - told to the model and logged
            trace = "".join(traceback.format_exception(error))
            log.warning("Tool %s raised\n%s", state.call.tool, self.redactor.text(trace))
            return Failed(
                f"{state.call.tool} failed: {type(error).__name__}: {error}", kind="raised"
            )
        return Failed(
            f"{state.call.tool} did not end within {seconds:g} s and was stopped. "
            "Ask for less at once, or give it more time.",
            kind="tool_timeout",
        )


def ambiguous(run_id: str, state: CallState) -> ToolReturned:
    """The result of a call that may or may not have acted before a crash; it is not repeated."""
    text = (
        f"Outcome ambiguous: the process stopped while {state.call.tool} was running. It may have "
        "taken effect, in whole or in part, or not at all. It was not run again. Look at the "
        "present state before you decide whether to repeat it."
    )
    returned = failure(run_id, state.call, text, kind="ambiguous")
    return msgspec.structs.replace(returned, ambiguous=True)


def interrupted(
    run_id: str, state: CallState, why: str, *, kind: str = "interrupted"
) -> ToolReturned:
    """The result of a call that was stopped, or that never began, because its run ends."""
    text = f"Not run: {why}." if state.waiting or state.held else f"Stopped before it ended: {why}."
    returned = failure(run_id, state.call, text, kind=kind)
    return msgspec.structs.replace(returned, stopped=True, denied=state.stage == "asked")
