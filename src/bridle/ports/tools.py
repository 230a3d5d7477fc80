"""The tools of a run, as the gate sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bridle.ports.clock import SystemClock
from bridle.types.base import Fixed
from bridle.types.tools import CallFacts, Done, Failed, PendingKind, Settlement, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bridle.ports.clock import Clock
    from bridle.types.content import ToolCall
    from bridle.types.events import Event
    from bridle.types.messages import Message
    from bridle.types.ops import Send
    from bridle.types.plans import Plan
    from bridle.types.tasks import Task
    from bridle.types.threads import Thread


class Child(Fixed, frozen=True, kw_only=True):
    """A thread to create and what to send to it, in the commit that suspends the call."""

    thread: Thread
    send: Send
    agent_type: str


class Suspended(Fixed, frozen=True, kw_only=True):
    """The call waits for an answer that comes through the inbox, from whoever can give it."""

    id: str
    kind: PendingKind
    payload: dict[str, Any]
    child: Child | None = None


class Recorded(Fixed, frozen=True, kw_only=True):
    """A settlement with events that belong to it; they are recorded in the same commit."""

    outcome: Settlement
    events: tuple[Event, ...]


Outcome = Done | Failed | Suspended | Recorded


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

    `secrets` are variables for the environment of a command; nothing of them is ever recorded.
    """

    thread_id: str
    run_id: str
    call_id: str
    depth: int = 0
    resource_id: str = ""
    harness_id: str | None = None
    workspace: str | None = None
    repeated: bool = False
    deps: Any = None
    resumed: Any = None
    tasks: tuple[Task, ...] = ()
    plan: Plan | None = None
    subagent_models: Mapping[str, str] = msgspec.field(default_factory=dict)
    values: dict[str, Any] = msgspec.field(default_factory=dict)
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
