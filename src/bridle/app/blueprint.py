"""The harness as configured: everything that the setup of any run is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.app.cards import Cards
from bridle.app.config import Agent, Mode, RequestContext
from bridle.app.crew import Crew, Surface
from bridle.app.parts.state import StateShape
from bridle.errors import ConfigError, suggest
from bridle.gate.batch import Concurrency
from bridle.journal.redact import NOTHING_HIDDEN, Redactor
from bridle.permissions.patterns import canonical
from bridle.permissions.profiles import category_named
from bridle.permissions.safety import in_scope
from bridle.tools.builtin.names import DELEGATION_NAMES
from bridle.tools.define import Tool
from bridle.tools.toolset import ToolSet
from bridle.types.agents import facts_of
from bridle.types.base import Fixed
from bridle.types.limits import Limits

if TYPE_CHECKING:
    from bridle.agent.setup import Checks
    from bridle.app.builtin import Catalogue
    from bridle.app.models import Models
    from bridle.delegation.kinds import Subagent
    from bridle.gate.decide import Card
    from bridle.hooks.running import HookSet
    from bridle.journal.state import ThreadState
    from bridle.ports.classifier import Classifier
    from bridle.ports.snapshots import Snapshots
    from bridle.types.content import ToolCall
    from bridle.types.permissions import Policy
    from bridle.types.secrets import Secret
    from bridle.types.tools import CallFacts

NO_VALUES: Mapping[str, Any] = {}
Tools = Sequence[Tool | str] | Callable[[RequestContext], Sequence[Tool | str]]
"""Tools, or names of built-in ones."""


class Blueprint(Fixed, frozen=True, kw_only=True):
    """Modes, tools, rules and limits of a harness."""

    modes: tuple[Mode, ...]
    models: Models
    policy: Policy
    tools: Tools = ()
    builtin: Catalogue
    subagents: Sequence[Subagent] = ()
    crew: Crew = msgspec.field(default_factory=Crew)
    limits: Limits = msgspec.field(default_factory=Limits)
    state: StateShape = msgspec.field(default_factory=lambda: StateShape(None))
    checks: Checks | None = None
    snapshots: Snapshots | None = None
    hooks: HookSet | None = None
    card: Card = Cards()
    concurrency: Concurrency = msgspec.field(default_factory=Concurrency)
    tool_category: Callable[[str], str | None] | None = None
    session_of: Callable[[str], Any] = lambda _thread_id: None
    secrets: Mapping[str, Secret] = msgspec.field(default_factory=dict)
    redactor: Redactor = NOTHING_HIDDEN
    classifier: Classifier | None = None

    def __post_init__(self) -> None:
        check_modes(self.modes)
        agents = [mode.agent for mode in self.modes if isinstance(mode.agent, Agent)]
        for listed in (self.tools, *(agent.tools for agent in agents)):
            if not callable(listed):
                check_tools(listed)
                for given in listed:
                    if isinstance(given, str) and not self._by_crew(given):
                        self.builtin.check(given)
        of_modes = [name for mode in self.modes for name in (mode.model, mode.agent_model)]
        of_kinds = [kind.model for kind in self.subagents]
        for name in (self.models.name, *self.models.fallbacks, *of_modes, *of_kinds):
            self.models.check(name)

    @property
    def default_mode(self) -> Mode:
        """The mode that new threads work in."""
        return next((mode for mode in self.modes if mode.default), self.modes[0])

    def mode(self, id: str | None) -> Mode:
        """A mode by its id; None is the default one."""
        if id is None:
            return self.default_mode
        known = {mode.id: mode for mode in self.modes}
        if id not in known:
            raise ConfigError(suggest(id, known, what="mode"))
        return known[id]

    def context(self, state: ThreadState, mode: Mode, values: Mapping[str, Any]) -> RequestContext:
        """What callables about a request are given."""
        return RequestContext(
            thread_id=state.id,
            resource_id=state.thread.resource_id if state.thread is not None else "",
            mode_id=mode.id,
            state=self.state.build(self.state.merged(state.values)),
            session=self.session_of(state.id),
            values=values,
        )

    def agent_tools(
        self, agent: Agent[Any, Any], state: ThreadState, values: Mapping[str, Any] = NO_VALUES
    ) -> list[Tool]:
        """The tools of a mode's agent."""
        tools = self._own_tools(agent, state, values)
        known = {tool.name for tool in tools}
        more = (self._fit(tool) for tool in self.crew.tools if tool.name not in known)
        return [*tools, *(tool for tool in more if tool is not None)]

    def surface(
        self, agent: Agent[Any, Any], state: ThreadState, values: Mapping[str, Any] = NO_VALUES
    ) -> Surface:
        """The tools of the agent that works in a thread, and what the gate leaves of them."""
        tools = self.agent_tools(agent, state, values)
        return self.crew.surface(tools, facts_of(state.thread), self._fit)

    def quiet_tool(self, name: str) -> Tool | None:
        """A built-in tool that is run when it is called, offered or not; see `Catalogue.quiet`."""
        tool = self.builtin.quiet(name)
        return None if tool is None else self._fit(tool)

    def output(self, state: ThreadState) -> Any:
        """The type of the answers in a thread's present mode, where they have one."""
        mode = self.mode(state.mode_id)
        return mode.agent_for(self.context(state, mode, {})).output

    def toolset(self, state: ThreadState) -> ToolSet:
        """The tools of a thread's present mode."""
        mode = self.mode(state.mode_id)
        agent = mode.agent_for(self.context(state, mode, {}))
        return ToolSet(self.agent_tools(agent, state))

    def described(self, state: ThreadState, call: ToolCall) -> CallFacts:
        """What a call in a thread would be, as far as its tools are known without a request."""
        mode = self.mode(state.mode_id)
        agent = mode.agent_for(self.context(state, mode, {}))
        surface = self.surface(agent, state)
        return ToolSet(surface.offered, withheld=surface.withheld).describe(call)

    def _own_tools(
        self, agent: Agent[Any, Any], state: ThreadState, values: Mapping[str, Any]
    ) -> list[Tool]:
        listed = self.tools
        mode = self.mode(state.mode_id)
        shared = listed(self.context(state, mode, values)) if callable(listed) else listed
        enabled = [glob for scope in self.policy.scope for glob in scope.tools or ()]
        tools: dict[str, Tool] = {}
        for given in (
            *agent.tools, *shared, *self.builtin.offered, *self.builtin.matching(enabled)
        ):  # fmt: skip
            if isinstance(given, str) and self._comes_later(given):
                continue
            tool = self.builtin.find(given) if isinstance(given, str) else given
            tools.setdefault(tool.name, tool)
        fit = (self._fit(tool) for tool in tools.values())
        return [tool for tool in fit if tool is not None]

    def _comes_later(self, name: str) -> bool:
        """Whether a tool comes with the workspace, which is not open, or with the crew."""
        return canonical(name) in self.builtin.later or self._by_crew(name)

    def _by_crew(self, name: str) -> bool:
        """Whether a tool is one of those that start agents, which are there in any case."""
        if canonical(name) in DELEGATION_NAMES and not self.crew.tools:
            raise ConfigError(f"{name} starts agents of a kind; give the harness subagents.")
        return canonical(name) in DELEGATION_NAMES

    def _fit(self, tool: Tool) -> Tool | None:
        """A tool as it is offered; None where the rules leave it out."""
        return self._filed(tool) if in_scope(tool.name, self.policy) else None

    def _filed(self, tool: Tool) -> Tool:
        """A tool under the category that the host puts it in, if it does."""
        category = self.tool_category(tool.name) if self.tool_category is not None else None
        if category is None:
            return tool
        return msgspec.structs.replace(tool, category=category_named(category))


def check_tools(listed: Sequence[object]) -> None:
    """Refuse what is no tool, and two tools of one name: the second would never be called."""
    names: set[str] = set()
    for given in listed:
        if isinstance(given, str):
            continue
        if not isinstance(given, Tool):
            hint = " Mark the function with @tool." if callable(given) else ""
            raise ConfigError(f"{given!r} is no tool.{hint}")
        if given.name in names:
            raise ConfigError(f"There are two tools named {given.name!r}.")
        names.add(given.name)


def check_modes(modes: Sequence[Mode]) -> None:
    """Refuse modes that cannot be told apart or that lead nowhere."""
    if not modes:
        raise ConfigError("A harness needs at least one mode, or an agent.")
    ids = [mode.id for mode in modes]
    if not all(ids):
        raise ConfigError("A mode needs an id.")
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ConfigError(f"There are two modes with the id {twice[0]!r}.")
    if sum(mode.default for mode in modes) > 1:
        raise ConfigError("Only one mode can be the default.")
    for mode in modes:
        agent: object = mode.agent
        if not isinstance(agent, Agent) and not callable(agent):
            kind = type(agent).__name__
            raise ConfigError(f"The agent of mode {mode.id!r} is a {kind}; give an Agent.")
        if mode.transitions_to is not None and mode.transitions_to not in ids:
            raise ConfigError(suggest(mode.transitions_to, ids, what="mode"))
