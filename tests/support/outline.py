"""A log in a few words per event, for tests that speak about order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridle.types import events as ev
from bridle.types.events import AnyEvent

QUIET = (
    ev.LeaseTaken,
    ev.ThreadCreated,
    ev.UsageUpdated,
    ev.BudgetReserved,
    ev.BudgetSettled,
    ev.MessageStarted,
    ev.LiveEvent,
)
"""What is left out unless `everything` is asked for."""


def outline(events: Iterable[AnyEvent], *, everything: bool = False) -> list[str]:
    """Such as `tool_start bash`, `permission_decided deny`, `tool_end denied`, `agent_end error`."""
    return [_line(e) for e in events if everything or not isinstance(e, QUIET)]


def only(events: Iterable[Any], *kinds: str) -> list[str]:
    """The lines of some types of events."""
    return [line for line in outline(events, everything=True) if line.split(" ")[0] in kinds]


def _line(event: AnyEvent) -> str:
    return " ".join(word for word in (event.type, *_words(event)) if word)


def _words(event: AnyEvent) -> tuple[str, ...]:
    match event:
        case ev.InputAdmitted():
            return (str(event.op.__struct_config__.tag),)
        case ev.ToolCalled():
            return (event.tool,)
        case ev.PermissionDecided():
            return (event.effect,)
        case ev.ApprovalAnswered():
            return ("approved" if event.approved else "declined",)
        case ev.CallSuspended():
            return (event.kind,)
        case ev.ToolReturned():
            return (_how(event),)
        case ev.MessageEnded():
            return (event.message.role, event.message.stop or "")
        case ev.RunEnded():
            return (event.reason,)
        case ev.ErrorRaised():
            return (event.error.type,)
        case ev.Noted():
            return (event.code,)
        case ev.BudgetSettled():
            return ("estimated" if event.estimated else "",)
        case ev.CheckEnded():
            return ("passed" if event.passed else "failed",)
        case _:
            return ()


def _how(event: ev.ToolReturned) -> str:
    if event.ambiguous:
        return "ambiguous"
    if event.denied:
        return "denied"
    return (event.kind or "error") if event.is_error else ""
