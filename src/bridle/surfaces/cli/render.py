"""Events and results as people and programs read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.results import result_of
from bridle.errors import BridleError, StoreError, ThreadInUse, TrustRefused, UserError
from bridle.runs.dimensions import dimension_of
from bridle.runs.summary import RunSummary
from bridle.runs.words import told
from bridle.surfaces.cli.exits import refusal_code
from bridle.surfaces.cli.output import short
from bridle.types import events as ev
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.app.results import RunResult

DETAIL = 100
REFUSALS: dict[type[BridleError], str] = {
    TrustRefused: "trust",
    ThreadInUse: "in_use",
    UserError: "configuration",
    StoreError: "store",
}


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


def refusal_json(error: BridleError) -> dict[str, Any]:
    """The object of a command that could not begin, or go on with, a run."""
    kind = next((kind for known, kind in REFUSALS.items() if isinstance(error, known)), "internal")
    failure = Failure(type=kind, message=str(error), retryable=kind == "in_use")
    summary = RunSummary("", reason="error", verdict="stopped", error=failure)
    line = result_json(summary, result_of(summary, []), code=refusal_code(error), files=())
    return line | {"run_id": None, "thread_id": None}


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
