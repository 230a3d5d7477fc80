"""Projections: the rows that follow from an event, written in the event's own transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.types import events as ev
from bridle.types.tools import AGENT_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

Statement = tuple[str, tuple[Any, ...]]

_json = msgspec.json.Encoder()


def project(event: ev.Event) -> Iterator[Statement]:
    """Yield the statements that bring the tables up to date with one stamped event."""
    consumed = getattr(event, "consumes", ())
    for input_id in consumed:
        yield "update inbox set done = 1 where input_id = ?", (input_id,)
    handler = _HANDLERS.get(type(event))
    if handler is not None:
        yield from handler(event)


def _thread_created(event: ev.ThreadCreated) -> Iterator[Statement]:
    thread = event.thread
    yield (
        "update threads set title = ?, metadata = ? where id = ?",
        (thread.title, _text(thread.metadata), event.thread_id),
    )


def _thread_renamed(event: ev.ThreadRenamed) -> Iterator[Statement]:
    yield "update threads set title = ? where id = ?", (event.title, event.thread_id)


def _thread_deleted(event: ev.ThreadDeleted) -> Iterator[Statement]:
    yield "update threads set deleted = 1 where id = ?", (event.thread_id,)


def _settings_changed(event: ev.SettingsChanged) -> Iterator[Statement]:
    yield (
        "insert into settings (thread_id, key, value) values (?, ?, ?) "
        "on conflict (thread_id, key) do update set value = excluded.value",
        (event.thread_id, event.key, _text(event.value)),
    )


def _input_admitted(event: ev.InputAdmitted) -> Iterator[Statement]:
    yield (
        "insert into inbox (input_id, thread_id, seq, kind, admitted_at) values (?, ?, ?, ?, ?)",
        (event.input_id, event.thread_id, event.seq, event.op.__struct_config__.tag, event.at),
    )


def _run_started(event: ev.RunStarted) -> Iterator[Statement]:
    yield (
        "insert into runs "
        "(run_id, thread_id, parent_run_id, status, task, model, start_seq, started_at) "
        "values (?, ?, ?, 'running', ?, ?, ?, ?)",
        (
            event.run_id,
            event.thread_id,
            event.parent_run_id,
            event.task,
            event.model_id,
            event.seq,
            event.at,
        ),
    )


def _run_paused(event: ev.RunPaused) -> Iterator[Statement]:
    yield "update runs set status = 'awaiting' where run_id = ?", (event.run_id,)


def _run_resumed(event: ev.RunResumed) -> Iterator[Statement]:
    yield "update runs set status = 'running' where run_id = ?", (event.run_id,)


def _run_ended(event: ev.RunEnded) -> Iterator[Statement]:
    yield (
        "update runs set status = 'ended', reason = ?, verdict = ?, ended_at = ? where run_id = ?",
        (event.reason, event.verdict, event.at, event.run_id),
    )
    yield "delete from pending where run_id = ?", (event.run_id,)


def _message_ended(event: ev.MessageEnded) -> Iterator[Statement]:
    yield "update threads set messages = messages + 1 where id = ?", (event.thread_id,)
    if event.message.role == "assistant":
        yield "update runs set steps = steps + 1 where run_id = ?", (event.run_id,)


def _usage_updated(event: ev.UsageUpdated) -> Iterator[Statement]:
    if event.cost_usd:
        yield (
            "update runs set cost_usd = cost_usd + ? where run_id = ?",
            (event.cost_usd, event.run_id),
        )


def _approval_required(event: ev.ApprovalRequired) -> Iterator[Statement]:
    yield _insert_pending(
        event,
        event.approval_id,
        "approval",
        call_id=event.call_id,
        tool=event.tool,
        args=event.args,
        card=event.card,
    )


def _approval_answered(event: ev.ApprovalAnswered) -> Iterator[Statement]:
    yield "delete from pending where id = ?", (event.approval_id,)


def _call_suspended(event: ev.CallSuspended) -> Iterator[Statement]:
    if event.kind not in AGENT_KINDS:
        yield _insert_pending(
            event,
            event.pending_id,
            event.kind,
            call_id=event.call_id,
            tool=event.tool,
            args=event.payload,
            card={},
        )


def _tool_returned(event: ev.ToolReturned) -> Iterator[Statement]:
    yield "delete from pending where call_id = ?", (event.call_id,)


def _insert_pending(
    event: ev.Event,
    pending_id: str,
    kind: str,
    *,
    call_id: str,
    tool: str,
    args: dict[str, Any],
    card: dict[str, Any],
) -> Statement:
    return (
        "insert or replace into pending "
        "(id, kind, run_id, thread_id, call_id, tool, args, card, created_at) "
        "values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            pending_id,
            kind,
            event.run_id,
            event.thread_id,
            call_id,
            tool,
            _text(args),
            _text(card),
            event.at,
        ),
    )


def _text(value: object) -> str:
    return _json.encode(value).decode()


_HANDLERS: dict[type[ev.Event], Any] = {
    ev.ThreadCreated: _thread_created,
    ev.ThreadRenamed: _thread_renamed,
    ev.ThreadDeleted: _thread_deleted,
    ev.SettingsChanged: _settings_changed,
    ev.InputAdmitted: _input_admitted,
    ev.RunStarted: _run_started,
    ev.RunPaused: _run_paused,
    ev.RunResumed: _run_resumed,
    ev.RunEnded: _run_ended,
    ev.MessageEnded: _message_ended,
    ev.UsageUpdated: _usage_updated,
    ev.ApprovalRequired: _approval_required,
    ev.ApprovalAnswered: _approval_answered,
    ev.CallSuspended: _call_suspended,
    ev.ToolReturned: _tool_returned,
}
