"""The tools of a run, as the gate sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bridle.ports.clock import SystemClock
from bridle.types.base import Fixed
from bridle.types.tools import CallFacts, Done, Failed, PendingKind, Settlement, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from bridle.ports.clock import Clock
    from bridle.ports.store import Append
    from bridle.types.agents import AgentFacts, AgentInfo
    from bridle.types.content import ToolCall
    from bridle.types.events import Event, SubagentEnded, SubagentStarted
    from bridle.types.limits import Limits
    from bridle.types.messages import Message
    from bridle.types.ops import Send
    from bridle.types.plans import Plan
    from bridle.types.tasks import Task
    from bridle.types.threads import Thread


class Child(Fixed, frozen=True, kw_only=True):
    """A thread to create and what to send to it, in the commit of the call that starts it.

    `copies` are messages that its conversation begins with. A call does not wait for a child in
    the `background`.
    """

    thread: Thread
    send: Send
    agent_type: str
    name: str = ""
    copies: Sequence[Message] = ()
    forked: bool = False
    background: bool = False
    replaces: str | None = None


class Suspended(Fixed, frozen=True, kw_only=True):
    """The call waits for an answer that comes through the inbox, from whoever can give it.

    A tool returns it to wait for `session.resume_tool`, and is then run again with `ctx.resumed`;
    `payload` tells what it waits for. Without an id it gets one from its call.
    """

    id: str = ""
    kind: PendingKind = "tool"
    payload: dict[str, Any] = msgspec.field(default_factory=dict)
    child: Child | None = None


class Recorded(Fixed, frozen=True, kw_only=True):
    """A settlement with what belongs to it, in the same commit.

    `events` stand before the result in the thread's own log; `appends` go to other threads.
    """

    outcome: Settlement
    events: tuple[Event, ...] = ()
    appends: tuple[Append, ...] = ()


Outcome = Done | Failed | Suspended | Recorded


class Settled(Fixed, frozen=True, kw_only=True):
    """The events that settle a call, its result last, and what is written to other threads."""

    events: tuple[Event, ...]
    appends: tuple[Append, ...] = ()


class Helper(Fixed, frozen=True, kw_only=True):
    """A child that works, or worked, for a run without being waited for."""

    started: SubagentStarted
    ended: SubagentEnded | None = None


class Standing(Fixed, frozen=True, kw_only=True):
    """Who makes a call: what the tools that start and address agents must know.

    `head` names the beginning of the run's requests and `messages` are what follows it; `limits`
    are those of the run. `waiting` is how many children are waited for now, `helpers` are the
    others. `agents` lists all agents of the tree.
    """

    mode_id: str
    model_id: str | None
    head: str
    history: int | None
    messages: Sequence[Message]
    limits: Limits
    facts: AgentFacts | None
    waiting: int
    helpers: Mapping[str, Helper]
    now: float
    agents: Callable[[], Awaitable[Sequence[AgentInfo]]]


class Window(Fixed, frozen=True, kw_only=True):
    """What the next request of a run begins with, and how its tokens are counted."""

    model_id: str
    system: str
    tools: tuple[ToolSpec, ...]
    messages: Sequence[Message]
    count: Callable[[str], int]
    context_window: int | None = None


class ThreadLook(Protocol):
    """A call's view of its own thread, up to the last event."""

    async def settings(self) -> dict[str, Any]:
        """The thread's settings."""
        ...

    async def events(self) -> Sequence[Event]:
        """The thread's log."""
        ...

    def window(self) -> Window:
        """What the model is shown."""
        ...


class CallScope(Fixed, frozen=True, kw_only=True):
    """Where a call runs. `key` is the same when a call is run again after a crash.

    `paths` are the real paths that were decided on, as far as the tool says which it touches.

    `secrets` are variables for the environment of a command; nothing of them is ever recorded.
    """

    thread_id: str
    run_id: str
    call_id: str
    depth: int = 0
    resource_id: str = ""
    harness_id: str | None = None
    workspace: str | None = None
    paths: tuple[str, ...] = ()
    repeated: bool = False
    deps: Any = None
    resumed: Any = None
    tasks: tuple[Task, ...] = ()
    plan: Plan | None = None
    subagent_models: Mapping[str, str] = msgspec.field(default_factory=dict)
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    standing: Standing | None = None
    secrets: Mapping[str, str] = msgspec.field(default_factory=dict)
    progress: Callable[[str], None] = lambda _text: None
    output: Callable[[str, str], None] = lambda _stream, _text: None
    owner: str = ""
    started_at: str = ""
    clock: Clock = msgspec.field(default_factory=SystemClock)
    look: ThreadLook | None = None

    @property
    def key(self) -> str:
        """The idempotency key of the call."""
        return self.call_id


class Toolbox(Protocol):
    """What a run may call.

    `describe` never raises: a call that cannot run comes back with its `problem`. `execute` gets
    the call with the arguments that were decided on; it returns an outcome or raises `ToolError`.
    """

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told, in a stable order."""
        ...

    def describe(self, call: ToolCall) -> CallFacts:
        """Validate the arguments and evaluate the tool's attributes for them."""
        ...

    async def execute(self, call: ToolCall, scope: CallScope) -> Outcome:
        """Run a call that the gate has let through."""
        ...
