"""How events of a run change its thread's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.journal.folding import add_message, canonical, run_of, seconds_between
from bridle.journal.run_state import OpenRequest, RunState
from bridle.types import events as ev
from bridle.types.output import OUTPUT, ROUND

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.journal.state import ThreadState


def _run_started(state: ThreadState, event: ev.RunStarted) -> None:
    state.run = RunState(
        run_id=event.run_id or "",
        start=event,
        model_id=event.model_id,
        mode_id=event.mode_id,
        head=event.head,
        values=dict(event.context),
    )


def _run_paused(state: ThreadState, event: ev.RunPaused) -> None:
    run = run_of(state)
    run.paused = True
    run.paused_at = event.at


def _run_resumed(state: ThreadState, event: ev.RunResumed) -> None:
    run = run_of(state)
    run.paused = False
    run.parked_seconds += seconds_between(run.paused_at, event.at)


def _run_ended(state: ThreadState, event: ev.RunEnded) -> None:
    run = run_of(state)
    run.ended = event
    run.request = None
    state.last_run = run
    state.run = None


def _message_started(state: ThreadState, event: ev.MessageStarted) -> None:
    if event.role == "assistant":
        run = run_of(state)
        run.request = OpenRequest(event.message_id, run.reservation)


def _message_ended(state: ThreadState, event: ev.MessageEnded) -> None:
    message = event.message
    calls = message.calls
    texts = tuple([canonical(call) for call in calls])
    add_message(state, message, sum(map(len, texts)))
    if event.run_id is None:  # copied from another thread
        return
    run = run_of(state)
    if message.role != "assistant":
        run.trail.clear()
        run.checks.clear()  # what was checked is not what will be there
        run.rounds += message.id.endswith(f".{ROUND}")
        run.retold += message.id.endswith(f".{OUTPUT}")
        return
    run.request = None
    run.addressed = False
    run.last = message
    run.text = message.text or run.text
    run.steps += 1
    run.failures = 0
    run.error = None
    run.calls = []
    run.asked = calls
    run.trail.append(texts)


def _usage_updated(state: ThreadState, event: ev.UsageUpdated) -> None:
    run = run_of(state)
    run.usage = run.usage + event.usage
    if not event.estimated:
        run.measured = (event.usage.total_tokens, state.weight)
    run.cost_usd += event.cost_usd
    run.unpriced |= event.unpriced is True
    state.usage = state.usage + event.usage
    state.cost_usd += event.cost_usd


def _budget_reserved(state: ThreadState, event: ev.BudgetReserved) -> None:
    run_of(state).reservation = event


def _budget_settled(state: ThreadState, _event: ev.BudgetSettled) -> None:
    run = run_of(state)
    run.reservation = None
    run.request = None


def _budget_exhausted(state: ThreadState, event: ev.BudgetExhausted) -> None:
    run_of(state).exhausted = event.why


def _error_raised(state: ThreadState, event: ev.ErrorRaised) -> None:
    if state.run is not None:
        state.run.error = event


def _model_retried(state: ThreadState, event: ev.ModelRetried) -> None:
    run = run_of(state)
    run.failures = event.attempt
    run.error = None


def _model_fell_back(state: ThreadState, event: ev.ModelFellBack) -> None:
    run = run_of(state)
    run.model_id = event.to_model
    run.fallen += 1
    run.failures = 0
    run.error = None


def _check_ended(state: ThreadState, event: ev.CheckEnded) -> None:
    run_of(state).checks[event.name] = event


RUN: dict[type[ev.Event], Callable[[ThreadState, Any], None]] = {
    ev.RunStarted: _run_started,
    ev.RunPaused: _run_paused,
    ev.RunResumed: _run_resumed,
    ev.RunEnded: _run_ended,
    ev.MessageStarted: _message_started,
    ev.MessageEnded: _message_ended,
    ev.UsageUpdated: _usage_updated,
    ev.BudgetReserved: _budget_reserved,
    ev.BudgetSettled: _budget_settled,
    ev.BudgetExhausted: _budget_exhausted,
    ev.ErrorRaised: _error_raised,
    ev.ModelRetried: _model_retried,
    ev.ModelFellBack: _model_fell_back,
    ev.CheckEnded: _check_ended,
}
