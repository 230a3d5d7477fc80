"""Events and results as people and programs read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.runs.dimensions import dimension_of
from bridle.runs.words import told
from bridle.surfaces.cli.output import short
from bridle.types import events as ev

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.app.results import RunResult
    from bridle.runs.summary import RunSummary

DETAIL = 100


def event_line(event: ev.Event) -> str:
    """One event on one line."""
    return f"{event.seq:>5} {event.at[11:23]} {event.type:<24} {_detail(event)}".rstrip()


def _detail(event: ev.Event) -> str:
    match event:
        case ev.ToolCalled():
            return f"{event.tool} {short(msgspec.json.encode(event.args).decode(), DETAIL)}"
        case ev.PermissionDecided():
            return told(event)
        case ev.ToolReturned():
            mark = "denied " if event.denied else "error " if event.is_error else ""
            return f"{event.tool} {mark}{short(event.result, DETAIL)}"
        case ev.MessageEnded():
            return f"{event.message.role}: {short(event.message.text, DETAIL)}"
        case ev.RunEnded():
            return f"{event.reason}, {event.verdict}"
        case ev.ErrorRaised():
            return event.error.message
        case ev.ApprovalRequired():
            return event.approval_id
        case ev.HookRan():
            return told(event)
        case ev.CheckEnded():
            return f"{event.name} {'passed' if event.passed else 'failed'}"
        case _:
            return ""


def result_json(
    summary: RunSummary, result: RunResult[Any], *, code: int, files: Sequence[str]
) -> dict[str, Any]:
    """The object that `--output-format json` prints."""
    error = result.error
    return {
        "run_id": result.run_id,
        "thread_id": result.thread_id,
        "text": result.text,
        "output": result.output,
        "reason": result.reason,
        "verdict": result.verdict,
        "exit_code": code,
        "usage": summary.usage_json(),
        "cost_usd": result.cost_usd,
        "model": summary.model,
        "steps": result.steps,
        "tool_calls": result.tool_calls,
        "pending": [
            {
                "id": p.id,
                "kind": p.kind,
                "call_id": p.call_id,
                "tool": p.tool,
                "args": p.args,
                "card": p.card,
            }
            for p in result.pending
        ],
        "checks": summary.checks,
        "files_changed": files,
        "error": None
        if error is None
        else {
            "type": error.type,
            "message": error.message,
            "retryable": error.retryable,
            "dimension": msgspec.to_builtins(dimension_of(error.type)),
        },
    }
