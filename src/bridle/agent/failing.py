"""What follows a request that failed: another attempt, another model, or the end of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types import events as ev
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from bridle.errors import ModelError
    from bridle.journal.run_state import RunState

FALLBACK_KINDS = frozenset(
    {
        "rate_limit",
        "unavailable",
        "timeout",
        "protocol",
        "cut",
        "context_overflow",
        "refused",
        "authentication",
    }
)
"""Failures that another model may not have."""


def failed(
    run: RunState, error: ModelError, *, model_id: str, why: str, delay: float | None
) -> ev.Event:
    """The event of a failure; `delay` is how long to wait for another attempt, if there is one."""
    if delay is not None:
        return ev.ModelRetried(
            run_id=run.run_id,
            model_id=model_id,
            attempt=run.failures + 1,
            delay=delay,
            why=why,
        )
    left = run.start.fallbacks[run.fallen :]
    if left and error.kind in FALLBACK_KINDS:
        return ev.ModelFellBack(run_id=run.run_id, from_model=model_id, to_model=left[0], why=why)
    failure = Failure(type=error.kind, message=why, retryable=error.retryable)
    return ev.ErrorRaised(run_id=run.run_id, error=failure, retryable=error.retryable)
