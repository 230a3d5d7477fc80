"""What the folds of a thread's log share."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from bridle.types.content import File, Image, Part, ToolCall, ToolResult
from bridle.types.ids import message_id
from bridle.types.messages import Message

if TYPE_CHECKING:
    from bridle.journal.calls import CallState
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState


def canonical(call: ToolCall) -> str:
    """Write a call so that equal calls are equal texts."""
    return f"{call.tool} {msgspec.json.encode(call.args, order='deterministic').decode()}"


def add_message(state: ThreadState, message: Message, calls_weight: int = 0) -> None:
    """Add a message to the history, with what it weighs in a request."""
    if not message.parts:
        return  # cut before its first word: providers refuse a message without content
    if message.role == "user" and state.run is not None:
        state.run.addressed = True
    state.messages.append(message)
    state.message_seqs.append(state.seq)
    said = sum(weight_of(part) for part in message.parts if not isinstance(part, ToolCall))
    state.weight += calls_weight + said


def weight_of(part: Part) -> int:
    """How many characters a part adds to a request."""
    if isinstance(part, ToolCall):
        return len(canonical(part))
    if isinstance(part, Image | File):
        return len(part.data)
    return len(part.text)


def results_of(run: RunState) -> Message:
    """All results of a step, folded by call index whatever order they came in."""
    parts = tuple(
        ToolResult(
            call_id=call.call.id,
            tool=call.call.tool,
            text=call.result.result,
            is_error=call.result.is_error,
            provider_id=call.call.provider_id,
            images=call.result.images,
        )
        for call in run.calls
        if call.result is not None
    )
    return Message(id=message_id(run.run_id, run.steps, "results"), role="tool", parts=parts)


def run_of(state: ThreadState) -> RunState:
    """The run that is open."""
    assert state.run is not None, "the log speaks of a run that was not started"
    return state.run


def call_of(state: ThreadState, call_id: str) -> CallState:
    """A call of the open run."""
    for call in run_of(state).calls:
        if call.call.id == call_id:
            return call
    raise AssertionError(f"the log speaks of a call that was not recorded: {call_id}")


def seconds_between(start: str, end: str) -> float:
    """How long it was between two events."""
    if not start or not end:
        return 0.0
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
