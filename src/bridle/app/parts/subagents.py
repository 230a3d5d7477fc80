"""The agents that work beside a session's conversation, and the models of its subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.agent.directory import agents_of
from bridle.app.parts.modes import model_for
from bridle.app.results import RunResult, result_of
from bridle.errors import ConfigError, suggest
from bridle.journal.children import beginning
from bridle.ports.store import Batch
from bridle.runs.summary import summarise
from bridle.types.base import Fixed
from bridle.types.events import SubagentModelChanged, ThreadDeleted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.app.attachment import Attachment
    from bridle.types.agents import AgentInfo, How
    from bridle.types.threads import Thread


class StartedAgent(Fixed, frozen=True, kw_only=True):
    """An agent that was started from a session: its thread, its run and its name."""

    id: str
    run_id: str
    name: str


class SessionSubagents:
    """Start agents beside the conversation, and choose the models of subagents."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._journal = attachment.journal

    def model_for(self, type: str | None = None) -> str | None:
        """The model that was set for a type, else for all; None when none was set."""
        models = self._attachment.state.subagent_models
        return models.get(type or "") or models.get("")

    async def set_model(self, model: str, type: str | None = None) -> None:
        """Use a model for one type of subagent, or for all."""
        kinds = {kind.id for kind in self._attachment.engine.blueprint.subagents}
        if type is not None and type not in kinds:
            raise ConfigError(suggest(type, kinds, what="subagent type"))
        changed = SubagentModelChanged(model_id=model, agent_type=type, scope="thread")
        await self._journal.append(self._attachment.thread.id, changed)

    async def fork(self, task: str, **options: Any) -> StartedAgent:
        """Start an agent with this conversation, the same model and tools; see `start`."""
        return await self.start("fork", task, **options)

    async def spawn(self, task: str, **options: Any) -> StartedAgent:
        """Start an agent that knows nothing but its task; see `start`."""
        return await self.start("spawn", task, **options)

    async def clone(self, task: str, **options: Any) -> StartedAgent:
        """Start an agent with this conversation and a copy of the task list; see `start`."""
        return await self.start("clone", task, **options)

    async def start(
        self,
        how: How,
        task: str,
        *,
        type: str | None = None,
        name: str | None = None,
        model: str | None = None,
        inherit_context: bool | None = None,
        inherit_tools: bool | None = None,
        inherit_goals: bool | None = None,
    ) -> StartedAgent:
        """Start an agent beside the conversation, which is not touched.

        `type` is a kind of subagent, None for one like the session's own. It works within the
        session's rules, has limits of its own and goes on when the session's runs end.
        """
        from bridle.delegation.detached import detached_child
        from bridle.delegation.errand import unused
        from bridle.delegation.fork import inherited

        blueprint = self._attachment.engine.blueprint
        thread = self._attachment.thread
        kind = blueprint.crew.kind(type) if type is not None else None
        taken = {one.name for one in await self.list()}
        chosen = self.model_for(type) if type is not None else None
        takes = inherited(how, context=inherit_context, tools=inherit_tools, goals=inherit_goals)
        child = detached_child(
            await self._journal.fold(thread.id),
            task,
            seed=self._attachment.engine.new_id("in"),
            how=how,
            takes=takes,
            name=unused(name or type or how, taken),
            kind=kind,
            model=model or (None if takes.context else chosen),
            current=model_for(self._attachment, blueprint.mode(self._attachment.state.mode_id)),
            max_depth=blueprint.limits.max_depth,
            workspace=blueprint.crew.workspace,
        )
        begun = beginning(child, input_id=f"{child.send.run_id}.send")
        await self._journal.write(Batch(appends=(begun,), durable=True))
        return StartedAgent(id=child.thread.id, run_id=child.send.run_id, name=child.name)

    async def wait(self, agent: StartedAgent) -> RunResult[Any]:
        """Wait until an agent has ended or rests, and return its result."""
        await self._attachment.engine.dispatcher.rested(self._attachment.thread.id)
        store = self._journal.store
        place = await store.run(agent.run_id)
        if place is None:
            raise ConfigError(f"There is no run {agent.run_id}.")
        events = await store.events(agent.id, after=place.start_seq - 1)
        return result_of(summarise(agent.run_id, events), await store.pending(threads=[agent.id]))

    async def list(self) -> Sequence[AgentInfo]:
        """All agents of the conversation's tree, with what they can be addressed by."""
        return await agents_of(self._journal.store, self._attachment.thread)

    async def forks(self) -> Sequence[Thread]:
        """The threads of forks of this conversation; lists of threads leave them out."""
        store = self._journal.store
        below = [await store.thread(n) for n in await store.children(self._attachment.thread.id)]
        return [one for one in below if one is not None and one.metadata.get("forked")]

    async def collect(self) -> int:
        """Delete the forks that have ended; tells how many. What they did stays in their logs."""
        over = {one.id for one in await self.list() if one.is_over}
        ended = [thread for thread in await self.forks() if thread.id in over]
        for thread in ended:
            await self._journal.append(thread.id, ThreadDeleted())
        return len(ended)
