"""A log in a few words per event, for tests that speak about order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    """Such as `tool_start bash`, `permission_decided deny`, `tool_end denied`."""
    return [_line(e) for e in events if everything or not isinstance(e, QUIET)]


def only(events: Iterable[Any], *kinds: str) -> list[str]:
    """The lines of some types of events."""
    return [line for line in outline(events, everything=True) if line.split(" ")[0] in kinds]


def _line(event: AnyEvent) -> str:
    return " ".join(
        word for word in (event.type, *_WORDS.get(type(event), lambda _: ())(event)) if word
    )


def _how(event: ev.ToolReturned) -> str:
    if event.ambiguous:
        return "ambiguous"
    if event.denied:
        return "denied"
    return (event.kind or "error") if event.is_error else ""


_WORDS: dict[type, Callable[[Any], tuple[str, ...]]] = {
    ev.InputAdmitted: lambda e: (str(e.op.__struct_config__.tag),),
    ev.ToolCalled: lambda e: (e.tool,),
    ev.PermissionDecided: lambda e: (e.effect,),
    ev.ApprovalAnswered: lambda e: ("approved" if e.approved else "declined",),
    ev.CallSuspended: lambda e: (e.kind,),
    ev.ToolReturned: lambda e: (_how(e),),
    ev.MessageEnded: lambda e: (e.message.role, e.message.stop or ""),
    ev.RunEnded: lambda e: (e.reason,),
    ev.ErrorRaised: lambda e: (e.error.type,),
    ev.Noted: lambda e: (e.code,),
    ev.BudgetSettled: lambda e: ("estimated" if e.estimated else "",),
    ev.CheckEnded: lambda e: ("passed" if e.passed else "failed",),
}
