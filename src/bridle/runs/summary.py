"""The summary of a run: what users get back from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.types import events as ev
from bridle.types.base import Moving
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.types.runs import Failure, Reason, RunVerdict


class RunSummary(Moving):
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
    steps: int = 0
    tool_calls: int = 0
    paused: bool = False
    error: Failure | None = None
    checks: dict[str, bool] = msgspec.field(default_factory=dict)
    files: list[str] = msgspec.field(default_factory=list)
    _paths: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def apply(self, event: ev.Event) -> None:
        """Take one more event of the run into account."""
        match event:
            case ev.RunStarted():
                self.thread_id, self.model, self.task = event.thread_id, event.model_id, event.task
            case ev.MessageEnded(message=message) if message.role == "assistant":
                self.steps += 1
                self.text = message.text or self.text
            case ev.UsageUpdated():
                self.usage = self.usage + event.usage
                self.cost_usd += event.cost_usd
            case ev.ToolCalled():
                self.tool_calls += 1
                if event.facts.category == "edit":
                    self._paths[event.call_id] = event.facts.paths
            case ev.ToolReturned():
                self._returned(event)
            case ev.CheckEnded():
                self.checks[event.name] = event.passed
            case ev.RunPaused():
                self.paused = True
            case ev.RunResumed():
                self.paused = False
            case ev.RunEnded():
                self.paused = False
                self.reason, self.verdict, self.error = event.reason, event.verdict, event.error
            case _:
                pass

    def _returned(self, event: ev.ToolReturned) -> None:
        if not event.is_error:
            for path in self._paths.get(event.call_id, ()):
                if path not in self.files:
                    self.files.append(path)

    def usage_json(self) -> dict[str, Any]:
        """The usage as the command line prints it."""
        return {
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "total_tokens": self.usage.total_tokens,
        }


def summarise(run_id: str, events: Iterable[ev.Event]) -> RunSummary:
    """Fold the events of one run; others are passed over."""
    summary = RunSummary(run_id)
    for event in events:
        if event.run_id == run_id:
            summary.apply(event)
    return summary
