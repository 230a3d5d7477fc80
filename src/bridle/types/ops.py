"""What may be asked of a thread. Every op is admitted to its inbox before it acts."""

from typing import Any

import msgspec

from bridle.types.agents import Mail, SubagentMeta
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
    context: dict[str, Any] = {}


class Decline(msgspec.Struct, frozen=True, kw_only=True, tag="decline", omit_defaults=True):
    """Do not let a call run; the model is told the reason."""

    id: str
    reason: str | None = None
    context: dict[str, Any] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag="answer", omit_defaults=True):
    """What the user said to a question: a text, or the chosen labels."""

    id: str
    answer: str | list[str]
    context: dict[str, Any] = {}


class AnswerPlan(msgspec.Struct, frozen=True, kw_only=True, tag="answer_plan", omit_defaults=True):
    """What the user thinks of a plan; an approved one goes on in the named mode."""

    id: str
    approved: bool
    feedback: str | None = None
    mode_id: str | None = None
    model_id: str | None = None
    context: dict[str, Any] = {}


class ResumeTool(msgspec.Struct, frozen=True, kw_only=True, tag="resume_tool", omit_defaults=True):
    """What a suspended tool waited for; it is run again with it."""

    id: str
    data: Any
    context: dict[str, Any] = {}


class Pin(msgspec.Struct, frozen=True, kw_only=True, tag="pin"):
    """Say something that every request from now on holds, word for word; it starts no run."""

    text: str


class SwitchMode(msgspec.Struct, frozen=True, kw_only=True, tag="switch_mode", omit_defaults=True):
    """Work in another mode from now on; a run in progress ends at the next safe boundary.

    `previous_mode_id` is the mode of a thread for which none was chosen yet.
    """

    mode_id: str
    model_id: str | None = None
    previous_mode_id: str | None = None


class SwitchModel(msgspec.Struct, frozen=True, kw_only=True, tag="switch_model"):
    """Use another model for a mode from the next run on."""

    model_id: str
    mode_id: str
    scope: str


class Grant(msgspec.Struct, frozen=True, kw_only=True, tag="grant"):
    """Allow a category, a tool or a pattern for the rest of the session."""

    scope: str
    matches: str


CHILD_HEAD = "child"


class Settle(msgspec.Struct, frozen=True, kw_only=True, tag="settle", omit_defaults=True):
    """The outcome of a suspended call, from the child that worked on it.

    `head` is the end of the child's chain, so that its log is bound to the parent's; the store puts
    it in where `CHILD_HEAD` stands, in the transaction that ends the child.
    """

    call_id: str
    outcome: Done | Failed
    head: str | None = None
    duration_ms: int = 0
    tool_calls: int = 0
    meta: SubagentMeta | None = None


class Deliver(msgspec.Struct, frozen=True, kw_only=True, tag="deliver"):
    """A message from another agent; it is heard before the next model request, once."""

    mail: Mail


class Expire(msgspec.Struct, frozen=True, kw_only=True, tag="expire"):
    """A call that waits has waited long enough."""

    call_id: str


Op = (
    Send
    | Steer
    | Interrupt
    | Approve
    | Decline
    | Answer
    | AnswerPlan
    | ResumeTool
    | Pin
    | SwitchMode
    | SwitchModel
    | Grant
    | Settle
    | Deliver
    | Expire
)

Answering = Approve | Decline | Answer | AnswerPlan | ResumeTool | Settle | Expire
"""What settles a call that waits, also while others are running."""
