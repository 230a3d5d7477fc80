"""Events about tool calls, from the request to the one result."""

from typing import Any, ClassVar

from bridle.types.agents import SubagentMeta
from bridle.types.content import Image
from bridle.types.events.base import Event, Origin
from bridle.types.permissions import TraceStep, Verdict
from bridle.types.tools import CallFacts, PendingKind


class ToolCalled(Event, frozen=True, kw_only=True, tag="tool_start"):
    """A call is recorded, before anything is decided or done about it."""

    origin: ClassVar[Origin] = "input"

    call_id: str
    tool: str
    args: dict[str, Any]
    facts: CallFacts


class PermissionDecided(Event, frozen=True, kw_only=True, tag="permission_decided"):
    """What may happen with a call, by which rule, and how that was found."""

    call_id: str
    tool: str
    effect: Verdict
    rule: str
    layer: str
    source: str | None = None
    reason: str | None = None
    trace: tuple[TraceStep, ...] = ()


class ApprovalRequired(Event, frozen=True, kw_only=True, tag="tool_approval_required"):
    """A call waits for a person. The card says what it would do."""

    approval_id: str
    call_id: str
    tool: str
    args: dict[str, Any]
    card: dict[str, Any]


class ApprovalAnswered(Event, frozen=True, kw_only=True, tag="tool_approval_answered"):
    """Somebody answered; an approved call may run from here on, with `data` if it asked for it."""

    approval_id: str
    call_id: str
    consumes: tuple[str, ...]
    approved: bool
    always: str | None = None
    reason: str | None = None
    facts: CallFacts | None = None
    data: Any = None


class CallSuspended(Event, frozen=True, kw_only=True, tag="tool_suspended"):
    """A call waits for something other than an approval."""

    origin: ClassVar[Origin] = "input"

    call_id: str
    tool: str
    pending_id: str
    kind: PendingKind
    payload: dict[str, Any]


class ToolReturned(Event, frozen=True, kw_only=True, tag="tool_end"):
    """The one result of a call; always follows its tool_start.

    `stopped` when the call was given its result because its run ends, not by its tool.
    """

    origin: ClassVar[Origin] = "input"

    call_id: str
    tool: str
    result: str
    is_error: bool = False
    denied: bool = False
    ambiguous: bool = False
    stopped: bool = False
    kind: str | None = None
    duration_ms: int = 0
    artefact: str | None = None
    images: tuple[Image, ...] = ()
    consumes: tuple[str, ...] = ()


class SubagentStarted(Event, frozen=True, kw_only=True, tag="subagent_start"):
    """A child works on a task for a call of this thread.

    With `background` the call does not wait for it; `replaces` is the call of the child whose
    place it takes.
    """

    call_id: str
    agent_type: str
    task: str
    model_id: str | None
    forked: bool = False
    child_thread_id: str = ""
    child_run_id: str = ""
    name: str = ""
    background: bool = False
    replaces: str | None = None


class SubagentEnded(Event, frozen=True, kw_only=True, tag="subagent_end"):
    """The child ended; `head` is the end of its chain, so its log is bound to this one."""

    call_id: str
    agent_type: str
    result: str
    is_error: bool
    duration_ms: int
    tool_calls: int
    head: str | None = None
    meta: SubagentMeta | None = None
    consumes: tuple[str, ...] = ()


class SubagentToolStarted(Event, frozen=True, kw_only=True, tag="subagent_tool_start"):
    """A child of this thread calls a tool; written with the child's own record of it."""

    origin: ClassVar[Origin] = "external"

    call_id: str
    agent_type: str
    sub_call_id: str
    tool: str
    args: dict[str, Any]


class SubagentToolEnded(Event, frozen=True, kw_only=True, tag="subagent_tool_end"):
    """A child's call has its result; the beginning of it is told here."""

    origin: ClassVar[Origin] = "external"

    call_id: str
    agent_type: str
    sub_call_id: str
    tool: str
    result: str
    is_error: bool = False
    denied: bool = False
