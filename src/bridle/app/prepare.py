"""Build what a run works with: model, instructions, tools, rules and limits.

A run that is resumed gets the head and the policy it was started with, from the log, plus the
denies of today.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.agent.budget import LedgerBudget
from bridle.agent.hooked import scope_of
from bridle.agent.setup import RequestHead, RunSetup, Wanted
from bridle.app.guard import GuardedModel
from bridle.errors import ConfigError
from bridle.gate.decide import Decider
from bridle.gate.run import Runner
from bridle.gate.secrets import SecretTools, told
from bridle.models.packs import Tuning, fitted
from bridle.models.profiles import CORE_TOOLS
from bridle.permissions.evaluate import evaluate
from bridle.ports.model import Loadable
from bridle.tools.toolset import ToolSet
from bridle.types.agents import StepView, facts_of
from bridle.types.base import Fixed
from bridle.types.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.app.blueprint import Blueprint
    from bridle.app.config import Agent, Mode
    from bridle.app.crew import Surface
    from bridle.app.workspaces import Workspaces
    from bridle.delegation.kinds import Subagent
    from bridle.journal.recorder import Journal
    from bridle.journal.run_state import RunState
    from bridle.journal.state import ThreadState
    from bridle.models.breaker import Breakers
    from bridle.ports.artefacts import Artefacts
    from bridle.ports.clock import Clock
    from bridle.ports.hooks import HookPort
    from bridle.ports.model import Model
    from bridle.ports.tools import Toolbox
    from bridle.tools.define import Tool
    from bridle.types.permissions import Policy, Scope

_head = msgspec.json.Decoder(RequestHead)


class Preparer(Fixed, frozen=True, kw_only=True):
    """Prepares runs of any thread of one harness."""

    blueprint: Blueprint
    workspaces: Workspaces
    journal: Journal
    artefacts: Artefacts
    clock: Clock
    breakers: Breakers

    async def __call__(self, state: ThreadState, wanted: Wanted) -> RunSetup:
        """Build the setup of a run that is wanted or was started, in its workspace."""
        values = _context_values(wanted)
        mode = self.blueprint.mode(wanted.mode or state.mode_id)
        request = self.blueprint.context(state, mode, values)
        opened = await self.workspaces.open(state, request)
        if opened.error is not None:
            if opened.news:  # the drain then looks again, and finds them told
                await self.journal.append(state.id, *opened.news)
            raise opened.error
        blueprint = self.blueprint if opened.found is None else opened.found.blueprint
        run = Preparation(
            means=self,
            blueprint=blueprint,
            state=state,
            wanted=wanted,
            mode=mode,
            agent=mode.agent_for(blueprint.context(state, mode, values)),
            values=values,
        )
        return msgspec.structs.replace(await run.setup(), news=opened.news)


class Preparation(Fixed, frozen=True, kw_only=True):
    """Prepares one run; `blueprint` is that of its workspace."""

    means: Preparer
    blueprint: Blueprint
    state: ThreadState
    wanted: Wanted
    mode: Mode
    agent: Agent[Any, Any]
    values: Mapping[str, Any]

    async def setup(self) -> RunSetup:
        """Put together what the run works with."""
        means, blueprint = self.means, self.blueprint
        model_id, model = await self._model()
        if self.wanted.send is not None:
            means.breakers.user_turn()
        tuning = blueprint.models.tuning(model_id)
        surface = blueprint.surface(self.agent, self.state, self.values)
        tools = self._tools(surface, tuning)
        head = await self._head(tools, tuning)
        policy = await self._policy(surface.scope)
        limits = _limits(blueprint.limits, self.agent.limits, tuning)
        _check_price(model, limits)
        hooks = self._hooks(model_id)
        return RunSetup(
            model_id=model_id,
            model=GuardedModel(
                fitted(model, tuning),
                means.breakers,
                name=model_id,
                context_window=tuning.context_window,
            ),
            count=lambda text: _count(text, model_id),
            tool_calls=tuning.tool_call_format,
            fallbacks=blueprint.models.fallbacks,
            head=head,
            policy=policy,
            decider=Decider(
                toolbox=tools,
                policy=policy,
                evaluate=evaluate,
                card=blueprint.card,
                marks=hooks.marks if hooks is not None else None,
                redactor=blueprint.redactor,
            ),
            runner=Runner(
                toolbox=tools,
                artefacts=means.artefacts,
                clock=means.clock,
                snapshots=blueprint.snapshots,
                redactor=blueprint.redactor,
            ),
            budget=LedgerBudget(store=means.journal.store, clock=means.clock),
            limits=limits,
            checks=blueprint.checks if facts_of(self.state.thread) is None else None,
            classifier=blueprint.classifier,
            hooks=hooks,
            mode_id=self.mode.id,
            after_plan=self._after_plan(),
            concurrency=msgspec.structs.replace(
                blueprint.concurrency, children=limits.max_parallel
            ),
            stop_when=_stop_when(self._kind),
        )

    def _tools(self, surface: Surface, tuning: Tuning) -> Toolbox:
        found = ToolSet(
            _surface(surface.offered, tuning),
            deps=self.agent.deps,
            withheld=surface.withheld,
            unavailable=surface.unavailable,
            quiet=self.blueprint.quiet_tool,
        )
        return SecretTools(tools=found, secrets=self.blueprint.secrets)

    def _hooks(self, model: str) -> HookPort | None:
        if self.blueprint.hooks is None:
            return None
        from bridle.hooks.live import LiveHooks

        scope = scope_of(self.state, None, mode=self.mode.id, model=model)
        done = {task.id for task in self.state.tasks if task.status == "completed"}
        return LiveHooks(self.blueprint.hooks, scope, done)

    @property
    def _kind(self) -> Subagent | None:
        facts = facts_of(self.state.thread)
        if facts is None or facts.kind is None:
            return None
        return self.blueprint.crew.kind(facts.kind)

    async def _head(self, tools: Toolbox, tuning: Tuning) -> RequestHead:
        store = self.means.journal.store
        if self.wanted.head:
            blob = await store.blob(self.wanted.head)
            if blob is not None:
                return _head.decode(blob)
        facts = facts_of(self.state.thread)
        if facts is not None and facts.head is not None:
            blob = await store.blob(facts.head)
            if blob is None:
                raise ConfigError("The conversation that this agent was forked from is gone.")
            return msgspec.structs.replace(_head.decode(blob), history=None)
        kind = self._kind
        system = kind.instructions if kind is not None else self.agent.instructions
        return RequestHead(
            system=self.blueprint.redactor.text(system + told(self.blueprint.secrets)),
            tools=self.blueprint.redactor.value(tools.specs),
            settings=tuning.settings(output_schema=None if facts else self.agent.output_schema),
            history=tuning.history,
        )

    async def _policy(self, scope: Scope | None) -> Policy:
        """The rules of a run: those of its parent's run, and within them its own."""
        store, today = self.means.journal.store, self.blueprint.policy
        thread, started = self.state.thread, self.wanted.started
        if started is not None:
            from bridle.app.inheriting import resumed_policy

            return await resumed_policy(store, started.policy, today)
        own = today
        if scope is not None:
            own = msgspec.structs.replace(own, scope=(*own.scope, scope))
        if thread is None or thread.parent_thread is None:
            return own
        from bridle.app.inheriting import policy_within

        parent, run = thread.parent_thread, thread.parent_run
        return await policy_within(store, own, parent=parent, run=run, today=today)

    async def _model(self) -> tuple[str, Model]:
        models = self.blueprint.models
        name = self._model_name() or models.default()
        found = models.resolve(name)
        model = await found if isinstance(found, Awaitable) else found
        if isinstance(model, Loadable):
            await model.load()
            name = model.id
        return (name if "/" in name else model.id), model

    def _model_name(self) -> str | None:
        """One chain: for this run, for the thread, the mode's, the agent's, the harness's."""
        wanted, mode, kind = self.wanted, self.mode, self._kind
        if wanted.started is not None and wanted.started.model_id is not None:
            return wanted.model or wanted.started.model_id
        asked = wanted.send.model if wanted.send is not None else None
        if kind is not None:
            asked = asked or kind.model
        chosen = self.state.models.get(mode.id)
        return asked or chosen or mode.model or self.agent.model or self.blueprint.models.name

    def _after_plan(self) -> tuple[str, str | None]:
        then = self.blueprint.mode(self.mode.transitions_to)
        chosen = self.state.models.get(then.id) or then.model or then.agent_model
        return then.id, chosen or self.blueprint.models.name


def _check_price(model: Model, limits: Limits) -> None:
    if limits.max_usd is None or model.price is not None:
        return
    provider, _, name = model.id.partition("/")
    raise ConfigError(
        f"The price of {model.id} is not known, so max_usd cannot be kept. Use max_tokens, or give "
        f"USD per million tokens: model_policy.providers.{provider}.models.{name}.price: "
        "{input: …, output: …}"
    )


def _context_values(wanted: Wanted) -> Mapping[str, Any]:
    if wanted.send is not None:
        return wanted.send.context
    return wanted.values


def _stop_when(kind: Subagent | None) -> Callable[[RunState], bool] | None:
    """What ends the runs of a kind, over the state of a run."""
    if kind is None or kind.stop_when is None:
        return None
    enough = kind.stop_when

    def look(run: RunState) -> bool:
        assert run.last is not None
        return enough(
            StepView(
                step=run.steps,
                text=run.last.text,
                calls=tuple((call.tool, call.args) for call in run.last.calls),
                results=tuple(c.result.result for c in run.calls if c.result is not None),
                tool_calls=run.tool_calls,
                usage=run.usage,
                cost_usd=run.cost_usd,
            )
        )

    return look


def _surface(tools: list[Tool], tuning: Tuning) -> list[Tool]:
    """The tools that a model of this kind is offered."""
    if tuning.tools == "all":
        return tools
    return [tool for tool in tools if tuning.tools == "core" and tool.name in CORE_TOOLS]


def _limits(harness: Limits, agent: Limits | None, tuning: Tuning) -> Limits:
    limits = harness if agent is None else agent.within(harness)
    if tuning.max_steps is None:
        return limits
    return limits.within(Limits(max_steps=tuning.max_steps))


def _count(text: str, model_id: str) -> int:
    """Tokens of a text, exactly where the model's vocabulary is installed."""
    from bridle.models.tokens import count

    return count(text, model_id).value
