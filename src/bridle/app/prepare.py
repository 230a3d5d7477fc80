"""Build what a run works with: model, instructions, tools, rules and limits.

A run that is resumed gets the head and the policy it was started with, from the log, plus the
denies of today.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.agent.budget import LedgerBudget
from bridle.agent.setup import Checks, RequestHead, RunSetup, Wanted
from bridle.delegation.subagent import Subagent, subagent_tool
from bridle.errors import ConfigError, suggest
from bridle.gate.batch import Concurrency
from bridle.gate.decide import Decider
from bridle.gate.run import Runner
from bridle.permissions.card import card
from bridle.permissions.evaluate import evaluate
from bridle.ports.model import Model, ModelSettings
from bridle.tools.toolset import ToolSet
from bridle.types.permissions import Policy

if TYPE_CHECKING:
    from bridle.app.config import Agent
    from bridle.journal.state import ThreadState
    from bridle.ports.artefacts import Artefacts
    from bridle.ports.clock import Clock
    from bridle.ports.store import Store
    from bridle.tools.define import Tool
    from bridle.types.limits import Limits

_head = msgspec.json.Decoder(RequestHead)
_policy = msgspec.json.Decoder(Policy)

ResolveModel = Callable[[str], Model | Awaitable[Model]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """The harness as configured: everything that the setup of any run is made from."""

    agent: Agent[Any, Any]
    model: str | None
    tools: Sequence[Tool]
    subagents: Sequence[Subagent]
    policy: Policy
    limits: Limits
    fallbacks: tuple[str, ...] = ()
    settings: ModelSettings = field(default_factory=ModelSettings)
    checks: Checks | None = None
    concurrency: Concurrency = field(default_factory=Concurrency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Prepares runs of any thread of one harness."""

    blueprint: Blueprint
    resolve_model: ResolveModel
    store: Store
    artefacts: Artefacts
    clock: Clock

    async def __call__(self, state: ThreadState, wanted: Wanted) -> RunSetup:
        """Build the setup of a run that is wanted or was started."""
        kind = self._kind(state)
        tools = ToolSet(self._tools(kind), deps=self.blueprint.agent.deps)
        head = await self._head(wanted, kind, tools)
        policy = await self._policy(wanted)
        model_id, model = await self._model(state, wanted, kind)
        self._check_price(model)
        return RunSetup(
            model_id=model_id,
            model=model,
            fallbacks=self.blueprint.fallbacks,
            head=head,
            policy=policy,
            decider=Decider(toolbox=tools, policy=policy, evaluate=evaluate, card=card),
            runner=Runner(toolbox=tools, artefacts=self.artefacts, clock=self.clock),
            budget=LedgerBudget(store=self.store, clock=self.clock),
            limits=self.blueprint.limits,
            checks=None if kind is not None else self.blueprint.checks,
            concurrency=self.blueprint.concurrency,
        )

    def _kind(self, state: ThreadState) -> Subagent | None:
        name = state.thread.metadata.get("agent") if state.thread is not None else None
        if name is None:
            return None
        kinds = {kind.id: kind for kind in self.blueprint.subagents}
        if name not in kinds:
            raise ConfigError(suggest(name, kinds, what="subagent"))
        return kinds[name]

    def _tools(self, kind: Subagent | None) -> list[Tool]:
        blueprint = self.blueprint
        if kind is not None:
            shared = [tool for tool in self._own_tools() if tool.name in set(kind.allowed_tools)]
            return [*kind.tools, *shared]
        tools = self._own_tools()
        if blueprint.subagents:
            tools.append(subagent_tool(blueprint.subagents, max_depth=blueprint.limits.max_depth))
        return tools

    def _own_tools(self) -> list[Tool]:
        tools = [*self.blueprint.agent.tools]
        known = {tool.name for tool in tools}
        tools += [tool for tool in self.blueprint.tools if tool.name not in known]
        return [tool for tool in tools if tool.name not in self.blueprint.policy.removed]

    async def _head(self, wanted: Wanted, kind: Subagent | None, tools: ToolSet) -> RequestHead:
        if wanted.started is not None:
            blob = await self.store.blob(wanted.started.head)
            if blob is not None:
                return _head.decode(blob)
        system = kind.instructions if kind is not None else self.blueprint.agent.instructions
        return RequestHead(system=system, tools=tools.specs, settings=self.blueprint.settings)

    async def _policy(self, wanted: Wanted) -> Policy:
        today = self.blueprint.policy
        if wanted.started is None:
            return today
        blob = await self.store.blob(wanted.started.policy)
        if blob is None:
            return today
        then = _policy.decode(blob)
        denies = tuple(rule for rule in today.rules if rule.effect == "deny")
        kept = tuple(rule for rule in then.rules if rule not in denies)
        return msgspec.structs.replace(
            then, rules=(*denies, *kept), removed={**then.removed, **today.removed}
        )

    async def _model(
        self, state: ThreadState, wanted: Wanted, kind: Subagent | None
    ) -> tuple[str, Model]:
        name = self._model_name(state, wanted, kind)
        if name is None:
            raise ConfigError(
                "No model is chosen. Give the harness or the agent a model, "
                'such as model="anthropic/claude-sonnet-4-5".'
            )
        found = self.resolve_model(name)
        model = await found if isinstance(found, Awaitable) else found
        return (name if "/" in name else model.id), model

    def _model_name(self, state: ThreadState, wanted: Wanted, kind: Subagent | None) -> str | None:
        if wanted.started is not None and wanted.started.model_id is not None:
            return wanted.model or wanted.started.model_id
        asked = wanted.send.model if wanted.send is not None else None
        inherited = state.thread.metadata.get("model") if state.thread is not None else None
        own = kind.model if kind is not None else self.blueprint.agent.model
        return asked or own or inherited or self.blueprint.model or self.blueprint.agent.model

    def _check_price(self, model: Model) -> None:
        if self.blueprint.limits.max_usd is not None and model.price is None:
            raise ConfigError(
                f"The price of {model.id} is not known, so max_usd cannot be kept. "
                "Give a price for it, or use max_tokens."
            )
