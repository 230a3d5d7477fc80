"""What users configure a harness with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from bridle.app.output import schema_of
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bridle.ports.clock import Clock
    from bridle.ports.ids import NewId
    from bridle.ports.lock import ThreadLock
    from bridle.tools.define import Tool
    from bridle.types.limits import Limits

Deps = TypeVar("Deps")
Out = TypeVar("Out")


class Agent(Fixed, Generic[Deps, Out], frozen=True):
    """Who answers: its instructions, its tools, and what it may use.

    `tools` are its own, or names of built-in ones. `output` is the type of the answer (a msgspec
    Struct, a dataclass, a pydantic model, or plain containers) or a JSON Schema: the model is
    asked for it, told once where its answer does not fit, and `RunResult.output` holds it.
    """

    instructions: str
    name: str = "agent"
    tools: Sequence[Tool | str] = ()
    model: str | None = None
    output: type[Out] | Mapping[str, Any] | None = None
    limits: Limits | None = None
    deps: Any = None

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the answer, where it must have a form."""
        return None if self.output is None else schema_of(self.output)


class Mode(Fixed, frozen=True):
    """A way of working: an agent (or a function of the request that makes one) and its model.

    A plan that is approved in this mode goes on in `transitions_to`, else in the default mode.
    """

    id: str
    agent: Agent[Any, Any] | Callable[[RequestContext], Agent[Any, Any]]
    name: str = ""
    default: bool = False
    transitions_to: str | None = None
    model: str | None = None
    color: str | None = None

    def agent_for(self, context: RequestContext) -> Agent[Any, Any]:
        """The agent that works in this mode now."""
        return self.agent if isinstance(self.agent, Agent) else self.agent(context)

    @property
    def agent_model(self) -> str | None:
        """The model of the agent itself, where the agent is fixed."""
        return self.agent.model if isinstance(self.agent, Agent) else None


class Heartbeat(Fixed, frozen=True):
    """Something to do again and again while the harness is open; it never keeps it open."""

    id: str
    interval: float
    handler: Callable[[], Any]
    immediate: bool = True
    shutdown: Callable[[], Any] | None = None


class Ports(Fixed, frozen=True, kw_only=True):
    """Parts of the world that tests and hosts may replace."""

    clock: Clock | None = None
    new_id: NewId | None = None
    thread_lock: ThreadLock | None = None


class RequestContext(Fixed, frozen=True, kw_only=True):
    """What a callable about a request is given.

    `session` is a session of this process that is attached to the thread, where there is one.
    """

    thread_id: str
    resource_id: str
    mode_id: str = "main"
    state: Any = None
    session: Any = None
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
