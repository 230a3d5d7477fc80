"""The agents that a harness can start, the tools that start them, and what each may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.delegation.kinds import COORDINATOR_TOOLS, Subagent, check_workspace_tools
from bridle.errors import ConfigError, suggest
from bridle.permissions.patterns import canonical
from bridle.tools.builtin.names import NAMED_WORKSPACE_NAMES, WORKSPACE_NAMES
from bridle.types.base import Fixed
from bridle.types.permissions import Policy, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from bridle.tools.define import Tool
    from bridle.types.agents import AgentFacts

AGENT, COORDINATOR = "agent", "coordinator"
"""Layers of scope: what an agent may use, and what binds only a coordinator itself."""

_TASK_TOOLS = ("task_write", "task_update", "task_complete", "task_check")
_NO_TASKS = "the task list belongs to the agent that you were forked from"


class Surface(Fixed, frozen=True, kw_only=True):
    """The tools of one agent: what it is offered, and what the gate lets it use.

    `withheld` are the harness's other tools; `scope` is what the gate leaves of all, None
    for everything; `unavailable` are offered, so that requests begin as they did, and cannot run.
    """

    offered: list[Tool]
    withheld: list[Tool] = msgspec.field(default_factory=list)
    scope: Scope | None = None
    unavailable: Mapping[str, str] = msgspec.field(default_factory=dict)


def bound_of(policy: Policy) -> Policy:
    """What a policy leaves to the agents that are started under it.

    A coordinator has no tools but those to delegate with; those who work for it are bound by what
    binds whoever called it.
    """
    left = tuple(scope for scope in policy.scope if scope.layer != COORDINATOR)
    return msgspec.structs.replace(policy, scope=left)


class Crew(Fixed, frozen=True, kw_only=True):
    """The kinds of agents and the tools to start them; `workspace` are the workspace's tools."""

    kinds: Mapping[str, Subagent] = msgspec.field(default_factory=dict)
    tools: Sequence[Tool] = ()
    workspace: frozenset[str] = frozenset()

    def kind(self, name: str) -> Subagent:
        """A kind by its id."""
        if name not in self.kinds:
            raise ConfigError(suggest(name, self.kinds, what="subagent"))
        return self.kinds[name]

    def surface(
        self, tools: list[Tool], facts: AgentFacts | None, fit: Callable[[Tool], Tool | None]
    ) -> Surface:
        """What an agent has of the harness's tools."""
        if facts is None:
            return Surface(offered=tools)
        if facts.forked:
            off = {} if facts.goals else dict.fromkeys(_TASK_TOOLS, _NO_TASKS)
            scope = None if facts.tools is None else Scope(layer=AGENT, tools=facts.tools)
            return Surface(offered=tools, scope=scope, unavailable=off)
        offered = tools if facts.kind is None else self._kind_tools(facts.kind, tools, fit)
        if facts.tools is not None:
            offered = [tool for tool in offered if tool.name in facts.tools]
        if offered is tools:
            return Surface(offered=tools)
        names = tuple(tool.name for tool in offered)
        rest = [tool for tool in tools if tool.name not in names]
        layer = COORDINATOR if facts.kind and self.kind(facts.kind).coordinator else AGENT
        return Surface(offered=offered, withheld=rest, scope=Scope(layer=layer, tools=names))

    def _kind_tools(
        self, name: str, tools: list[Tool], fit: Callable[[Tool], Tool | None]
    ) -> list[Tool]:
        kind = self.kind(name)
        if kind.coordinator:
            return [tool for tool in tools if tool.name in COORDINATOR_TOOLS]
        own = [tool for given in kind.tools if (tool := fit(given)) is not None]
        known = {tool.name for tool in own}
        shared = (tool for tool in tools if kind.may_use(tool.name, self.workspace))
        return [*own, *(tool for tool in shared if tool.name not in known)]


def crew_of(kinds: Sequence[Subagent], *, placed: bool, disabled: Collection[str]) -> Crew:
    """The crew of a harness; without kinds there is nobody to start, and no tool to do it.

    `placed` tells whether there is a workspace.
    """
    if not kinds:
        return Crew()
    from bridle.delegation.coordinator import call_coordinator_tool, coordinator_of
    from bridle.delegation.fork import fork_agent_tool
    from bridle.delegation.mailbox import send_message_tool, wait_for_agent_tool
    from bridle.delegation.subagent import subagent_tool

    places = frozenset((*WORKSPACE_NAMES, *NAMED_WORKSPACE_NAMES) if placed else ())
    check_workspace_tools(kinds, places)
    coordinator = coordinator_of(kinds)
    if any(kind.id == coordinator.id and not kind.coordinator for kind in kinds):
        raise ConfigError(
            f"The subagent {coordinator.id!r} has the name of the built-in coordinator; give it "
            "another one, or coordinator=True."
        )
    left_out = {canonical(name) for name in disabled}
    tools = (
        subagent_tool(kinds, workspace=places),
        fork_agent_tool(kinds, workspace=places),
        call_coordinator_tool(kinds),
        send_message_tool(),
        wait_for_agent_tool(),
    )
    return Crew(
        kinds={kind.id: kind for kind in (*kinds, coordinator)},
        tools=tuple(tool for tool in tools if tool.name not in left_out),
        workspace=places,
    )
