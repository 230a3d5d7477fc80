"""What the folds of a thread's log share."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from bridle.errors import StoreError
from bridle.types.content import Part, Text, Thinking, ToolCall, ToolResult
from bridle.types.ids import message_id
from bridle.types.messages import Message

if TYPE_CHECKING:
    from bridle.journal.calls import CallState
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState

BROKEN = "; a record is missing. Look which one with: bridle verify RUN"
SAID = (Text, Thinking, ToolResult)
_sorted = msgspec.json.Encoder(order="deterministic")


def canonical(call: ToolCall) -> str:
    """Write a call so that equal calls are equal texts."""
    return f"{call.tool} {_sorted.encode(call.args).decode()}"


def add_message(state: ThreadState, message: Message, calls_weight: int = 0) -> None:
    """Add a message to the history, with what it weighs in a request."""
    if not message.parts:
        return  # cut before its first word: providers refuse a message without content
    if message.role == "user" and state.run is not None:
        state.run.addressed = True
    state.messages.append(message)
    state.message_seqs.append(state.seq)
    weight = calls_weight
    for part in message.parts:
        if isinstance(part, SAID):  # nearly all: a long thread has many parts
            weight += len(part.text)
        elif not isinstance(part, ToolCall):
            weight += len(part.data)
    state.weight += weight


def weight_of(part: Part) -> int:
    """How many characters a part adds to a request."""
    if isinstance(part, ToolCall):
        return len(canonical(part))
    return len(part.text) if isinstance(part, SAID) else len(part.data)


def results_of(run: RunState) -> Message:
    """All results of a step, folded by call index whatever order they came in."""
    parts = [
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
    ]
    name = message_id(run.run_id, run.steps, "results")
    return Message(id=name, role="tool", parts=tuple(parts))


def run_of(state: ThreadState) -> RunState:
    """The run that is open."""
    if state.run is None:
        raise StoreError(f"The log speaks of a run that was not started{BROKEN}")
    return state.run


def call_of(state: ThreadState, call_id: str) -> CallState:
    """A call of the open run."""
    for call in run_of(state).calls:
        if call.call.id == call_id:
            return call
    raise StoreError(f"The log speaks of a call that was not recorded, {call_id}{BROKEN}")


def seconds_between(start: str, end: str) -> float:
    """How long it was between two events."""
    if not start or not end:
        return 0.0
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
