"""What users get back: a run's result, and what it still waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bridle.app.output import parse_output
from bridle.errors import RunError
from bridle.types.base import Fixed
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from bridle.runs.summary import RunSummary
    from bridle.types.runs import PendingRow
    from bridle.types.usage import Usage

Out = TypeVar("Out")

AWAITING = "awaiting"


class Pending(Fixed, frozen=True, kw_only=True):
    """Something that waits for an answer: an approval, a question, a plan or a tool."""

    id: str
    kind: str
    call_id: str
    tool: str
    args: dict[str, Any]
    card: dict[str, Any]


class RunResult(Fixed, Generic[Out], frozen=True, kw_only=True):
    """How a run ended, or `reason == "awaiting"` while it is parked.

    Without `cost_known` the price of its model is not known, and `cost_usd` does not count it.
    """

    run_id: str
    thread_id: str
    text: str
    output: Out | None
    reason: str
    verdict: str | None
    usage: Usage
    cost_usd: float
    steps: int
    tool_calls: int
    pending: tuple[Pending, ...]
    error: Failure | None
    cost_known: bool = True

    def raise_for_error(self) -> RunResult[Out]:
        """Raise when the run ended with an error; else return the result."""
        if self.error is not None:
            raise RunError(f"{self.error.type}: {self.error.message}")
        return self


def result_of(summary: RunSummary, pending: list[PendingRow], output: Any = None) -> RunResult[Any]:
    """Build the result that a summary stands for; `output` is the type that was asked for."""
    value, error = _parsed(summary, output)
    return RunResult(
        run_id=summary.run_id,
        thread_id=summary.thread_id,
        text=summary.text,
        output=value,
        reason=summary.reason or AWAITING,
        verdict=summary.verdict,
        usage=summary.usage,
        cost_usd=summary.cost_usd,
        cost_known=summary.cost_known,
        steps=summary.steps,
        tool_calls=summary.tool_calls,
        pending=tuple(pending_of(row) for row in pending) if summary.reason is None else (),
        error=error,
    )


def _parsed(summary: RunSummary, output: Any) -> tuple[Any, Failure | None]:
    if output is None or summary.error is not None or summary.reason != "end_turn":
        return None, summary.error
    try:
        return parse_output(summary.text, output), None
    except ValueError as error:
        return None, Failure(type="output_invalid", message=str(error))


def pending_of(row: PendingRow) -> Pending:
    """The user's view of a row that waits."""
    return Pending(
        id=row.id, kind=row.kind, call_id=row.call_id, tool=row.tool, args=row.args, card=row.card
    )
