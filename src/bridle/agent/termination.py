"""Why a run ends: a fold over the log, not a counter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types.base import Fixed
from bridle.types.ops import Deliver, Steer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.types.messages import StopReason
    from bridle.types.runs import Failure, Reason, RunVerdict

REPEATS = 10
LONGEST_PERIOD = 3
"""Of a loop, in steps."""

NATURAL: frozenset[Reason] = frozenset({"end_turn", "stop_sequence", "tool_use", "handed_off"})

_BY_STOP: dict[StopReason, Reason] = {
    "end_turn": "end_turn",
    "tool_use": "end_turn",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refused": "safety_violation",
    "interrupted": "user_interrupt",
    "timeout": "timeout",
}


class Stop(Fixed, frozen=True):
    """A run is over for this reason."""

    reason: Reason
    error: Failure | None = None


def stop_reason(state: ThreadState, run: RunState) -> Stop | None:
    """Tell whether the run may make another request, and if not, why."""
    if run.expired:
        return Stop("timeout")
    if run.error is not None:
        return _failed(run.error.error)
    if run.exhausted is not None:
        return Stop("budget_exceeded")
    if run.satisfied:
        return Stop("tool_use")
    steered = any(isinstance(op, Steer | Deliver) for op in state.inputs.values())
    if run.last is not None and not run.last.calls and not steered and not run.addressed:
        stop = run.last.stop or "end_turn"
        if stop != "paused":
            return Stop(_BY_STOP[stop])
    if run.steps >= run.start.limits.max_steps:
        return Stop("recursion_limit")
    allowed = run.start.limits.max_tool_calls
    if allowed is not None and run.tool_calls > allowed:
        return Stop("recursion_limit")
    if is_looping(run.trail):
        return Stop("loop_detected")
    return None


def _failed(error: Failure) -> Stop:
    if error.type == "context_overflow":
        return Stop("context_overflow", error)
    return Stop("error", error)


def verdict(run: RunState, reason: Reason) -> RunVerdict:
    """What the result is worth: only checks can verify it."""
    if reason not in NATURAL:
        return "stopped"
    if not run.checks:
        return "claimed"
    return "verified" if all(check.passed for check in run.checks.values()) else "failed"


def is_looping(trail: Sequence[tuple[str, ...]]) -> bool:
    """Tell whether the last steps are the same few batches of calls over and over.

    `trail` holds the canonical calls of each step, also where they succeed. A period of one to
    three steps that was repeated ten times is a loop.
    """
    return any(_repeats(trail, period) for period in range(1, LONGEST_PERIOD + 1))


def _repeats(trail: Sequence[tuple[str, ...]], period: int) -> bool:
    length = period * REPEATS
    if len(trail) < length:
        return False
    tail = trail[-length:]
    pattern = tail[:period]
    if not all(pattern):
        return False
    return all(tail[i] == pattern[i % period] for i in range(length))
