"""The harness: the configured whole."""

from __future__ import annotations

import logging
import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio

from bridle.app.all_runs import AllRuns
from bridle.app.attachment import Attachment, Engine
from bridle.app.blueprint import Blueprint, Tools
from bridle.app.builtin import check_absent
from bridle.app.config import Agent, Heartbeat, Mode, Ports
from bridle.app.crew import crew_of
from bridle.app.furnish import Furnisher, Stock, compiled_policy
from bridle.app.given import checks_in, classifier_from
from bridle.app.heartbeats import Heartbeats, check_heartbeats
from bridle.app.hooks import open_hooks, tell_shutdown
from bridle.app.locks import ThreadLocks
from bridle.app.models import LazyRegistry, Models, ResolveModel, UseCounts
from bridle.app.naming import check_tool_names
from bridle.app.open_sessions import OpenSessions
from bridle.app.parts.state import StateShape
from bridle.app.paths import default_store
from bridle.app.prepare import Preparer
from bridle.app.scope import HostedTasks
from bridle.app.secrets import configured, hiding
from bridle.app.session import Session
from bridle.app.wiring import build_engine, check_store, open_store
from bridle.app.workspaces import Given, Workspaces
from bridle.checks.run import ProjectChecks
from bridle.delegation.kinds import Subagent, check_kinds
from bridle.errors import ConfigError, StoreError
from bridle.journal.bus import Bus
from bridle.journal.recorder import Journal
from bridle.models.breaker import Breakers
from bridle.models.packs import Tuning, tune
from bridle.models.registry import ModelRegistry
from bridle.models.retry import next_delay
from bridle.ports.clock import Clock, SystemClock
from bridle.ports.ids import random_ids
from bridle.types.limits import Limits
from bridle.types.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from bridle.app.classifier import Judge
    from bridle.app.results import RunResult
    from bridle.checks.plan import CheckPlan
    from bridle.hooks.define import Bound, Hook
    from bridle.hooks.running import HookSet
    from bridle.ports.artefacts import Artefacts
    from bridle.ports.store import Store
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool
    from bridle.types.permissions import Policy, Rules
    from bridle.types.secrets import Secret


log = logging.getLogger("bridle.harness")

LAST_WORDS = 5.0
"""How many seconds a harness that closes leaves to those who wait for its runs."""


class Harness:
    """Agents, tools, rules and limits over one store. Use it as an async context manager."""

    def __init__(
        self,
        *,
        agent: Agent[Any, Any] | None = None,
        modes: Sequence[Mode] = (),
        id: str = "bridle",
        model: str | None = None,
        fallbacks: Sequence[str] = (),
        store: str | Store | None = None,
        state: Any = None,
        resource_id: str | None = None,
        tools: Tools = (),
        subagents: Sequence[Subagent] = (),
        workspace: Given | None = None,
        workspace_tools: Callable[[Workplace], Sequence[Tool]] | None = None,
        permissions: Rules | Policy | None = None,
        limits: Limits | None = None,
        checks: bool | CheckPlan | ProjectChecks | None = None,
        heartbeats: Sequence[Heartbeat] = (),
        hooks: Sequence[Hook | Bound] = (),
        disable_builtin_tools: Sequence[str] = (),
        search_url: str | None = None,
        resolve_model: ResolveModel | ModelRegistry | None = None,
        model_auth: Callable[[str], Any] | None = None,
        model_use_counts: UseCounts | None = None,
        tool_category: Callable[[str], str | None] | None = None,
        tuning: Callable[[str], Tuning] = tune,
        classifier: str | Judge | None = None,
        secrets: Mapping[str, str | Secret] | None = None,
        redact: Sequence[str] | None = (),
        memory: None = None,
        observation: None = None,
        ports: Ports | None = None,
    ) -> None:
        check_kinds(subagents)
        check_heartbeats(heartbeats)
        check_store(store)
        check_absent(memory=memory, observation=observation)
        if (agent is None) == (not modes):
            raise ConfigError("Give an agent or modes, one of the two.")
        if checks and workspace is None and not isinstance(checks, ProjectChecks):
            raise ConfigError("Checks run in a workspace; give one.")
        self.id = id
        self.resource_id = resource_id or id
        self._given_store = store
        self._ports = ports or Ports()
        self._heartbeats = tuple(heartbeats)
        self._tasks = HostedTasks()
        self._sessions = OpenSessions()
        stock = Stock(
            search_url=search_url,
            tasks=lambda: self._tasks.group,
            disabled=tuple(disable_builtin_tools),
        )
        policy = compiled_policy(permissions, None)
        registry = resolve_model if isinstance(resolve_model, ModelRegistry) else None
        models = Models(
            registry=LazyRegistry(lambda: nullcontext(self.store), registry),
            own=None if isinstance(resolve_model, ModelRegistry) else resolve_model,
            name=model,
            fallbacks=tuple(fallbacks),
            auth=model_auth,
            use_counts=model_use_counts if model_use_counts is not None else {},
            tuning=tuning,
        )
        clock = self._ports.clock or SystemClock()
        known = configured(secrets, os.environ)
        redactor = hiding(known, redact, os.environ)
        checked = partial(checks_in, checks, redactor.text)
        hooked = partial(open_hooks, hooks, clock=clock, redactor=redactor) if hooks else None
        self._blueprint = Blueprint(
            modes=tuple(modes) if agent is None else (Mode("main", agent, default=True),),
            models=models,
            tools=tools,
            builtin=stock(None, policy, later=workspace is not None),
            subagents=tuple(subagents),
            crew=crew_of(
                subagents,
                placed=workspace is not None,
                disabled=disable_builtin_tools,
            ),
            policy=policy,
            limits=limits or Limits(),
            state=StateShape(state),
            checks=checked(None),
            hooks=hooked(None, policy) if hooked is not None else None,
            tool_category=tool_category,
            session_of=self._sessions.of,
            secrets=known,
            redactor=redactor,
            classifier=classifier_from(classifier, models.resolve),
        )
        if workspace_tools is None:
            check_tool_names(self._blueprint, permissions, subagents)
        self._workspaces = Workspaces(
            workspace,
            Furnisher(
                bare=self._blueprint,
                rules=permissions,
                stock=stock,
                more=workspace_tools,
                checks=checked,
                hooks=hooked,
                listen=lambda listener: self._open().journal.bus.subscribe(listener),
            ),
        )
        self._locks = ThreadLocks(self._ports.thread_lock)
        self._engine: Engine | None = None
        self._close: Callable[[], Any] | None = None
        self._beats: Heartbeats | None = None

    @classmethod
    def from_spec(
        cls,
        path: str | Path,
        *,
        workspace: str | Path | None = None,
        trust: bool = False,
        **changes: Any,
    ) -> Harness:
        """The harness of a `harness.yaml`, as `bridle run --spec` has it in the same layers.

        It works in `workspace`, by default the directory of the file. `changes` are arguments of
        `Harness` that go before what the spec says. Raises `SpecError` with the line of a mistake.
        """
        from bridle.app.coding import build_coding
        from bridle.app.ruling import RunOptions

        file = Path(path)
        options = RunOptions(
            cwd=Path(workspace) if workspace is not None else file.absolute().parent,
            spec=file,
            model=changes.pop("model", None),
            trust=trust,
        )
        return build_coding(options, lambda **given: cls(**{**given, **changes})).harness

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
        store, artefacts = self._open_store(clock)
        await self._tasks.open()
        journal = Journal(store=store, bus=Bus(), redactor=self._blueprint.redactor)
        self._engine = build_engine(
            blueprint=self._blueprint,
            workspaces=self._workspaces,
            locks=self._locks,
            journal=journal,
            clock=clock,
            new_id=self._ports.new_id or random_ids(clock),
            prepare=Preparer(
                blueprint=self._blueprint,
                workspaces=self._workspaces,
                journal=journal,
                artefacts=artefacts,
                clock=clock,
                breakers=Breakers(clock.now),
            ),
            next_delay=next_delay,
            tasks=self._tasks.group,
        )
        for listener in self._blueprint.builtin.listeners:
            journal.bus.subscribe(listener)
        self._beats = Heartbeats(clock, self._tasks.group, partial(self._sessions.tell, journal))
        for heartbeat in self._heartbeats:
            self._beats.register(heartbeat)

    def check_mode(self, id: str) -> None:
        """Raise `ConfigError` with the nearest name when there is no such mode."""
        self._blueprint.mode(id)

    def pause(self) -> None:
        """Rest at the next safe boundary; open runs can be resumed, here or elsewhere."""
        self._open().dispatcher.pause()

    async def destroy(self) -> None:
        """End what still runs, with an outcome, and close the store."""
        if self._engine is None:
            return
        await self.heartbeats.stop()
        await self._tasks.close()
        await self._engine.waiters.gone(LAST_WORDS)
        await tell_shutdown(self._hooks(), self._engine.journal, self._sessions)
        await self._let_go()
        self._engine = None
        self._sessions.clear()
        await self._blueprint.models.registry.aclose()
        if self._close is not None:
            await self._close()

    async def _let_go(self) -> None:
        try:
            if self._workspaces.is_open:
                await self._workspaces.destroy(await self._sessions.records(self._open().journal))
        except StoreError:
            log.warning("The end of the workspace cannot be recorded", exc_info=True)
        self._workspaces.forget()
        await self._locks.release_all()

    @property
    def store(self) -> Store:
        """The open store."""
        return self._open().journal.store

    @property
    def heartbeats(self) -> Heartbeats:
        """What repeats while the harness is open."""
        self._open()
        assert self._beats is not None
        return self._beats

    @property
    def runs(self) -> AllRuns:
        """The runs of all threads."""
        return AllRuns(lambda: self.store)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions that were opened."""
        return tuple(self._sessions)

    async def known_resource_ids(self) -> list[str]:
        """The resources that have threads, sorted."""
        await self.init()
        return sorted({thread.resource_id for thread in await self.store.threads()})

    async def session(
        self,
        resource_id: str | None = None,
        thread_id: str | None = None,
        *,
        new: bool = False,
        create: bool = True,
    ) -> Session:
        """Attach to a thread: the one named, the newest of the resource, or a new one.

        `new` begins a thread in any case; without `create` there must be one already.
        """
        await self.init()
        template = Thread(
            id="",
            resource_id=resource_id or self.resource_id,
            harness_id=self.id,
            workspace=self._workspaces.root,
        )
        session = Session(Attachment(self._open(), template))
        if thread_id is not None:
            await session.threads.switch(thread_id)
        elif not new and (newest := await session.threads.newest()) is not None:
            await session.threads.switch(newest.id)
        elif create:
            await session.threads.create()
        else:
            raise ConfigError("There is no thread here yet.")
        self._sessions.append(session)
        if self._workspaces.own is not None:
            await session.workspace.look()  # a failure is recorded; runs that need it end with it
        return session

    def run_sync(self, content: str) -> RunResult[Any]:
        """Run one input to its end, for scripts without an event loop."""

        async def main() -> RunResult[Any]:
            async with self:
                session = await self.session()
                return await session.send(content)

        return anyio.run(main)

    def _hooks(self) -> HookSet | None:
        """Those that run where the last run did; none where the workspace is not open."""
        if not self._workspaces.configured:
            return self._blueprint.hooks
        last = self._workspaces.last
        return last.blueprint.hooks if last is not None else None

    def _open(self) -> Engine:
        if self._engine is None:
            raise ConfigError("The harness is not open; use `async with harness:`.")
        return self._engine

    def _open_store(self, clock: Clock) -> tuple[Store, Artefacts]:
        given = self._given_store
        if given is not None and not isinstance(given, str):
            from bridle.store.artefacts import MemoryArtefacts

            return given, MemoryArtefacts()
        store, artefacts = open_store(given or default_store(), clock)
        self._close = store.close
        return store, artefacts
