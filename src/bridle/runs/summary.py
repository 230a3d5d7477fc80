"""The summary of a run: what users get back from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.journal.state import ThreadState
from bridle.types.base import Fixed
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.journal.run_state import RunState
    from bridle.types.events import Event
    from bridle.types.runs import Failure, Reason, RunVerdict


class RunSummary(Fixed, frozen=True):
    """One run so far; `reason` is None while it is not over."""

    run_id: str
    thread_id: str = ""
    model: str | None = None
    task: str = ""
    text: str = ""
    reason: Reason | None = None
    verdict: RunVerdict | None = None
    usage: Usage = msgspec.field(default_factory=Usage)
    cost_usd: float = 0.0
    cost_known: bool = True
    steps: int = 0
    tool_calls: int = 0
    paused: bool = False
    error: Failure | None = None
    checks: dict[str, bool] = msgspec.field(default_factory=dict)
    files: list[str] = msgspec.field(default_factory=list)

    def usage_json(self) -> dict[str, Any]:
        """The usage as the command line prints it."""
        return {
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "total_tokens": self.usage.total_tokens,
        }


def summary_of(run: RunState) -> RunSummary:
    """The summary of a run that is folded already."""
    ended = run.ended
    return RunSummary(
        run_id=run.run_id,
        thread_id=run.start.thread_id,
        model=run.model_id or run.start.model_id,
        task=run.start.task,
        text=run.text,
        reason=ended.reason if ended is not None else None,
        verdict=ended.verdict if ended is not None else None,
        usage=run.usage,
        cost_usd=run.cost_usd,
        cost_known=not (run.unpriced and run.usage.total_tokens),
        steps=run.steps,
        tool_calls=run.tool_calls,
        paused=run.paused and ended is None,
        error=ended.error if ended is not None else None,
        checks={name: check.passed for name, check in run.checks.items()},
        files=list(run.files),
    )


def summarise(run_id: str, events: Iterable[Event]) -> RunSummary:
    """Fold the events of one run; others are passed over."""
    state = ThreadState("")
    for event in events:
        if event.run_id == run_id:
            state.apply(event)
    run = state.run_named(run_id)
    return RunSummary(run_id) if run is None else summary_of(run)
