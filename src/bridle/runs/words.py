"""Events in words: one short line for each, the same wherever it is shown."""

from __future__ import annotations

import msgspec

from bridle.types import events as ev
from bridle.types.content import plain_text
from bridle.types.ops import Approve, Decline, Deliver, Send, Settle, Steer

LENGTH = 100


def short(text: str, length: int = LENGTH) -> str:
    """The first line of a text, cut, with nothing in it that could move a terminal's cursor."""
    lines = text.strip().splitlines()
    line = "".join(c if c.isprintable() else " " for c in lines[0]) if lines else ""
    return line if len(line) <= length else line[: length - 1] + "…"


def call_words(event: ev.ToolCalled) -> str:
    """A call as a person would write it."""
    if event.facts.command is not None:
        return f"{event.tool}({short(event.facts.command)})"
    texts = [value for value in event.args.values() if isinstance(value, str)]
    if event.facts.paths and texts:
        return f"{event.tool}({short(texts[0])})"
    return f"{event.tool}({short(msgspec.json.encode(event.args).decode())})"


def told(event: ev.Event) -> str:
    """What an event says."""
    match event:
        case ev.ToolCalled():
            return call_words(event)
        case ev.PermissionDecided():
            return f"{event.effect} by {event.rule}" + (f": {event.reason}" if event.reason else "")
        case ev.ToolReturned():
            mark = "denied: " if event.denied else "error: " if event.is_error else ""
            return f"{event.tool} {mark}{short(event.result)}"
        case ev.MessageStarted():
            asked = event.request
            return f"{event.role}, from {asked.model}" if asked is not None else event.role
        case ev.MessageEnded():
            calls = ", ".join(call.tool for call in event.message.calls)
            said = short(event.message.text) or (f"calls {calls}" if calls else "")
            return f"{event.message.role}: {said}"
        case ev.InputAdmitted():
            return _op(event)
        case _:
            return _other(event)


def _op(event: ev.InputAdmitted) -> str:
    match event.op:
        case Send() | Steer():
            return f"{event.op.__struct_config__.tag}: {short(plain_text(event.op.parts))}"
        case Approve() | Decline():
            return f"{event.op.__struct_config__.tag} {event.op.id}"
        case Settle():
            return f"a subagent ended for {event.op.call_id}"
        case Deliver(mail=mail):
            return f"a message from {mail.name}: {short(mail.text)}"
        case other:
            return str(other.__struct_config__.tag)


def _other(event: ev.Event) -> str:
    match event:
        case ev.RunStarted():
            return f"{event.model_id}: {short(event.task)}"
        case ev.RunEnded():
            return f"{event.reason}, {event.verdict}"
        case ev.ErrorRaised():
            return short(event.error.message)
        case ev.Noted():
            return short(event.text)
        case ev.ApprovalRequired():
            return f"{event.tool} waits as {event.approval_id}"
        case ev.ApprovalAnswered():
            return "approved" if event.approved else f"rejected: {event.reason or ''}".rstrip(": ")
        case ev.CheckEnded():
            return f"{event.name} {'passed' if event.passed else 'failed'}"
        case ev.UsageUpdated():
            return f"{event.usage.total_tokens} tokens, {event.cost_usd:.4f} USD"
        case _:
            return _rest(event)


def _rest(event: ev.Event) -> str:
    match event:
        case ev.SubagentStarted():
            return f"{event.agent_type}: {short(event.task)}"
        case ev.SubagentEnded():
            return f"{event.agent_type}: {short(event.result)}"
        case ev.SubagentToolStarted():
            return f"{event.agent_type}: {event.tool}"
        case ev.SubagentToolEnded():
            return f"{event.agent_type}: {event.tool} {short(event.result)}"
        case ev.HookRan():
            why = f": {short(event.reason)}" if event.reason else ""
            return f"{event.hook} {event.outcome}{why}"
        case ev.CheckpointTaken():
            return event.problem or f"{event.before[:12]} → {event.after[:12]}"
        case ev.ModelRetried() | ev.BudgetExhausted():
            return short(event.why)
        case ev.ModelFellBack():
            return f"{event.from_model} → {event.to_model}: {short(event.why)}"
        case _:
            return ""
