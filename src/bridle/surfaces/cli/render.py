"""Events and results as people and programs read them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from bridle.surfaces.cli.output import short, talk
from bridle.types import events as ev

if TYPE_CHECKING:
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
            return f"{event.effect} by {event.rule}: {event.reason}"
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
        case ev.CheckEnded():
            return f"{event.name} {'passed' if event.passed else 'failed'}"
        case _:
            return ""


class Progress:
    """Live progress for a person on stderr; the answer itself goes to stdout."""

    def __init__(self) -> None:
        self._tty = sys.stderr.isatty()

    def __call__(self, event: ev.AnyEvent) -> None:
        """Show one event."""
        if isinstance(event, ev.ToolCalled):
            talk(f"· {event.tool} {short(msgspec.json.encode(event.args).decode(), DETAIL)}")
        elif isinstance(event, ev.ToolProgress):
            talk(f"  {short(event.text, DETAIL)}")
        elif isinstance(event, ev.ToolReturned) and event.is_error:
            talk(f"  {'denied' if event.denied else 'failed'}: {short(event.result, DETAIL)}")
        elif isinstance(event, ev.ModelRetried):
            talk(f"· retrying in {event.delay:.1f} s: {event.why}")
        elif isinstance(event, ev.Noted):
            talk(f"· {event.text}")
        elif isinstance(event, ev.CheckEnded):
            talk(f"· check {event.name}: {'passed' if event.passed else 'failed'}")
        elif isinstance(event, ev.MessageDelta) and self._tty and event.kind == "text":
            click.echo(event.delta, err=True, nl=False)


def result_json(summary: RunSummary, result: RunResult[Any], *, code: int) -> dict[str, Any]:
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
        "files_changed": summary.files,
        "error": None
        if error is None
        else {"type": error.type, "message": error.message, "retryable": error.retryable},
    }
