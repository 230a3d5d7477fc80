"""The harness: the configured whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import anyio

from bridle.app.config import Agent, Ports, Rules
from bridle.app.models import model_registry
from bridle.app.paths import state_directory
from bridle.app.prepare import Blueprint, Preparer, ResolveModel
from bridle.app.scope import HostedTasks
from bridle.app.session import Engine, Session
from bridle.app.threads import SessionThreads
from bridle.app.wiring import build_engine, open_store
from bridle.app.workspace import Workspace, workspace_checks, workspace_tools
from bridle.delegation.subagent import Subagent, check_kinds
from bridle.errors import ConfigError
from bridle.models.retry import next_delay
from bridle.ports.clock import SystemClock
from bridle.ports.ids import random_ids
from bridle.types.limits import Limits
from bridle.types.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from bridle.app.results import RunResult
    from bridle.ports.store import Store
    from bridle.tools.define import Tool
    from bridle.types.permissions import Policy


class Harness:
    """Agents, tools, rules and limits over one store. Use it as an async context manager."""

    def __init__(
        self,
        *,
        agent: Agent[Any, Any],
        id: str = "bridle",
        model: str | None = None,
        store: str | Store | None = None,
        resource_id: str | None = None,
        tools: Sequence[Tool] = (),
        subagents: Sequence[Subagent] = (),
        workspace: Workspace | None = None,
        permissions: Rules | Policy | None = None,
        limits: Limits | None = None,
        checks: bool = False,
        resolve_model: ResolveModel | None = None,
        ports: Ports | None = None,
    ) -> None:
        check_kinds(subagents)
        self.id = id
        self.resource_id = resource_id or id
        self._store_url = store
        self._ports = ports or Ports()
        self._resolve_model = resolve_model
        self._workspace = workspace
        if checks and workspace is None:
            raise ConfigError("Checks run in a workspace; give one.")
        place = workspace.place() if workspace is not None else None
        root = str(place.root) if place is not None else None
        rules = permissions or Rules()
        policy = rules.policy(root=root) if isinstance(rules, Rules) else rules
        self._blueprint = Blueprint(
            agent=agent,
            model=model,
            tools=(*tools, *(workspace_tools(place) if place is not None else ())),
            subagents=tuple(subagents),
            policy=policy,
            limits=limits or agent.limits or Limits(),
            checks=workspace_checks(place) if checks and place is not None else None,
        )
        self._tasks = HostedTasks()
        self._engine: Engine | None = None
        self._stopping = False
        self._close: Callable[[], Any] | None = None

    async def __aenter__(self) -> Self:
        await self.init()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.destroy()

    async def init(self) -> None:
        """Open the store and begin to work. Calling it again changes nothing."""
        if self._engine is not None:
            return
        clock = self._ports.clock or SystemClock()
        new_id = self._ports.new_id or random_ids(clock)
        if isinstance(self._store_url, str) or self._store_url is None:
            url = self._store_url or f"sqlite:///{state_directory() / 'bridle.db'}"
            store, artefacts = open_store(url, clock)
            self._close = store.close
        else:
            from bridle.store.artefacts import MemoryArtefacts

            store, artefacts = self._store_url, MemoryArtefacts()
        await self._tasks.open()
        resolve = self._resolve_model or model_registry(os.environ).resolve
        self._engine = build_engine(
            store=store,
            clock=clock,
            new_id=new_id,
            prepare=lambda journal: Preparer(
                blueprint=self._blueprint,
                resolve_model=resolve,
                store=journal.store,
                artefacts=artefacts,
                clock=clock,
            ),
            next_delay=next_delay,
            tasks=self._tasks.group,
            stopping=lambda: self._stopping,
        )

    async def destroy(self) -> None:
        """End what still runs, with an outcome, and close the store."""
        if self._engine is None:
            return
        await self._tasks.close()
        self._engine = None
        if self._close is not None:
            await self._close()

    @property
    def store(self) -> Store:
        """The open store."""
        if self._engine is None:
            raise ConfigError("The harness is not open; use `async with harness:`.")
        return self._engine.journal.store

    async def session(
        self,
        resource_id: str | None = None,
        thread_id: str | None = None,
        *,
        new: bool = False,
    ) -> Session:
        """Attach to a thread: the one named, the newest of the resource, or a new one."""
        await self.init()
        assert self._engine is not None
        template = Thread(id="", resource_id=resource_id or self.resource_id, harness_id=self.id)
        threads = SessionThreads(
            journal=self._engine.journal,
            dispatcher=self._engine.dispatcher,
            new_id=self._engine.new_id,
            template=template,
        )
        session = Session(self._engine, threads)
        if thread_id is not None:
            await threads.switch(thread_id)
        elif not new and (newest := await threads.newest()) is not None:
            await threads.switch(newest.id)
        else:
            await threads.create()
        return session

    def run_sync(self, content: str) -> RunResult[Any]:
        """Run one input to its end, for scripts without an event loop."""

        async def main() -> RunResult[Any]:
            async with self:
                session = await self.session()
                return await session.send(content)

        return anyio.run(main)
