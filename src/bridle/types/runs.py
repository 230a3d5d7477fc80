"""The record of a run, as users read it."""

from typing import Any, Literal

import msgspec

Reason = Literal[
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "user_interrupt",
    "error",
    "timeout",
    "budget_exceeded",
    "recursion_limit",
    "safety_violation",
    "loop_detected",
    "context_overflow",
    "handed_off",
]
RunVerdict = Literal["verified", "failed", "claimed", "stopped"]
RunStatus = Literal["running", "awaiting", "ended"]

LIMIT_REASONS: frozenset[Reason] = frozenset(
    {
        "budget_exceeded",
        "recursion_limit",
        "timeout",
        "context_overflow",
        "loop_detected",
        "max_tokens",
    }
)


class Failure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a run, a check or a call failed, in terms that can be acted on."""

    type: str
    message: str
    retryable: bool = False


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `bridle runs`."""

    run_id: str
    thread_id: str
    parent_run_id: str | None
    status: RunStatus
    reason: Reason | None
    verdict: RunVerdict | None
    task: str
    model: str | None
    started_at: str
    ended_at: str | None
    steps: int
    cost_usd: float


class RunPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands in its thread's log."""

    row: RunRow
    start_seq: int


class PendingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `bridle approvals`."""

    id: str
    kind: str
    run_id: str
    thread_id: str
    call_id: str
    tool: str
    args: dict[str, Any]
    card: dict[str, Any]
    created_at: str
