"""What may be asked of a thread. Every op is admitted to its inbox before it acts."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.types.content import UserPart
from bridle.types.limits import Limits
from bridle.types.tools import Done, Failed


class Send(msgspec.Struct, frozen=True, kw_only=True, tag="send", omit_defaults=True):
    """Start a run with this input, when the runs admitted before it have ended."""

    run_id: str
    parts: tuple[UserPart, ...]
    model: str | None = None
    context: dict[str, Any] = {}
    limits: Limits | None = None
    follow_up: bool = False


class Steer(msgspec.Struct, frozen=True, kw_only=True, tag="steer"):
    """Say something to the run in progress, before its next model request."""

    parts: tuple[UserPart, ...]
    context: dict[str, Any] = {}


class Interrupt(msgspec.Struct, frozen=True, kw_only=True, tag="interrupt", omit_defaults=True):
    """End a run, also when it is parked; `clear` drops the queued follow-ups too.

    It names the run that it means, so that it can never hit a later one.
    """

    run_id: str
    clear: bool = False


class Approve(msgspec.Struct, frozen=True, kw_only=True, tag="approve", omit_defaults=True):
    """Let a call run; changed arguments are decided again. `always` grants more of its kind."""

    id: str
    args: dict[str, Any] | None = None
    always: str | None = None


class Decline(msgspec.Struct, frozen=True, kw_only=True, tag="decline", omit_defaults=True):
    """Do not let a call run; the model is told the reason."""

    id: str
    reason: str | None = None


class Settle(msgspec.Struct, frozen=True, kw_only=True, tag="settle", omit_defaults=True):
    """The outcome of a suspended call, from the child that worked on it.

    `head` is the end of the child's chain, so that its log is bound to the parent's.
    """

    call_id: str
    outcome: Done | Failed
    head: str | None = None
    duration_ms: int = 0
    tool_calls: int = 0


Op = Send | Steer | Interrupt | Approve | Decline | Settle
