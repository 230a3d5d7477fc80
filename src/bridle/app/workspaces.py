"""The workspaces of a harness: one of its own, or one per request from a function of the caller.

A workspace is opened when it is first needed. What comes of that is recorded in the thread that
needed it; a workspace that cannot be opened fails the runs that need it, not the harness.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import anyio

from bridle.app.workspace import Workspace
from bridle.errors import BridleError, ConfigError, suggest
from bridle.types.base import Fixed
from bridle.types.events import Event, WorkspaceFailed, WorkspaceReady, WorkspaceStatusChanged

if TYPE_CHECKING:
    from bridle.app.blueprint import Blueprint
    from bridle.app.config import RequestContext
    from bridle.journal.state import ThreadState
    from bridle.sandbox.checkpoints import Checkpoints

Config = Workspace | Mapping[str, Any] | str | Path
Given = Config | Callable[["RequestContext"], Config | Awaitable[Config]]
Record = Callable[..., Awaitable[Any]]

REMEMBERED = 1000
"""Of how many threads it is known which of the caller's workspaces they had last."""


class Furnished(Fixed, frozen=True, kw_only=True, weakref=True):
    """An open workspace, and the blueprint of runs that work in it."""

    workspace: Workspace
    blueprint: Blueprint
    checkpoints: Checkpoints | None


class Opened(Fixed, frozen=True, kw_only=True):
    """A workspace, or why there is none, and what the thread that asked has not heard of it."""

    found: Furnished | None = None
    error: ConfigError | None = None
    news: tuple[Event, ...] = ()


class Workspaces:
    """Opens workspaces and remembers which thread works in which."""

    def __init__(self, given: Given | None, furnish: Callable[[Workspace], Furnished]) -> None:
        self._factory = given if callable(given) else None
        self._own = None if given is None or callable(given) else as_workspace(given)
        self._furnish = furnish
        self._open: Furnished | None = None
        self._made: WeakValueDictionary[str, Furnished] = WeakValueDictionary()
        self._latest: OrderedDict[str, Furnished] = OrderedDict()
        self._opening = anyio.Lock()

    @property
    def configured(self) -> bool:
        """Whether there is a workspace, or a function that makes them."""
        return self._own is not None or self._factory is not None

    @property
    def own(self) -> Workspace | None:
        """The harness's own workspace."""
        return self._own

    @property
    def root(self) -> str | None:
        """Where the harness's own workspace lies, if it does."""
        return str(self._own.root) if self._own is not None and self._own.exists else None

    @property
    def is_open(self) -> bool:
        """Whether the harness's own workspace is open."""
        return self._open is not None

    @property
    def last(self) -> Furnished | None:
        """The workspace that was used last."""
        return self._open or next(reversed(self._latest.values()), None)

    def known(self, thread_id: str) -> Furnished | None:
        """The open workspace of a thread, as far as it is known without asking for it."""
        return self._open if self._factory is None else self._latest.get(thread_id)

    async def open(self, state: ThreadState, context: RequestContext) -> Opened:
        """Open the workspace of a request; one that fails is tried again the next time."""
        if not self.configured:
            return Opened()
        async with self._opening if self._factory is None else nullcontext():
            fresh = self._own is not None and self._open is None
            try:
                found = await self._resolve(context)
            except ConfigError as error:
                return Opened(error=error, news=_news_of_failure(state, str(error)))
        return Opened(found=found, news=_news(state, str(found.workspace.root), fresh=fresh))

    async def destroy(self, records: Mapping[str, Record]) -> None:
        """Let go the harness's own workspace; what a function made is its caller's."""
        if not self.is_open:
            return
        try:
            for record in records.values():
                await record(WorkspaceStatusChanged(status="destroying"))
        finally:
            self._open = None
        for record in records.values():
            await record(WorkspaceStatusChanged(status="destroyed"))

    def forget(self) -> None:
        """Let go what was made for requests: it listens to a harness that is closed."""
        self._latest.clear()
        self._made.clear()

    async def _resolve(self, context: RequestContext) -> Furnished:
        if self._own is not None:
            if self._open is None:
                self._open = self._furnished(self._own)
            return self._open
        assert self._factory is not None
        try:
            made = self._factory(context)
            given = await made if inspect.isawaitable(made) else made
        except BridleError as error:
            raise ConfigError(f"The workspace cannot be used: {error}") from error
        except Exception as error:  # the caller's function; told where the workspace is needed
            why = f"{type(error).__name__}: {error}"
            raise ConfigError(f"The workspace cannot be made: {why}") from error
        workspace = as_workspace(given)
        key = repr(workspace)
        found = self._made.get(key) or self._furnished(workspace)
        self._made[key] = self._latest[context.thread_id] = found
        self._latest.move_to_end(context.thread_id)
        while len(self._latest) > REMEMBERED:
            self._latest.popitem(last=False)
        return found

    def _furnished(self, workspace: Workspace) -> Furnished:
        try:
            return self._furnish(workspace)
        except (BridleError, OSError) as error:
            raise ConfigError(f"The workspace cannot be used: {error}") from error


def _news(state: ThreadState, root: str, *, fresh: bool) -> tuple[Event, ...]:
    """What a thread has not heard of its workspace yet; a child thread works in its parent's."""
    if state.workspace == ("ready", root) or _is_child(state):
        return ()
    begins = (WorkspaceStatusChanged(status="initializing"),) if fresh else ()
    return (*begins, WorkspaceStatusChanged(status="ready"), WorkspaceReady(root=root))


def _news_of_failure(state: ThreadState, why: str) -> tuple[Event, ...]:
    """The same for a workspace that cannot be used: told once, until it can be."""
    if (state.workspace is not None and state.workspace[0] == "error") or _is_child(state):
        return ()
    return (
        WorkspaceStatusChanged(status="initializing"),
        WorkspaceStatusChanged(status="error"),
        WorkspaceFailed(error=why),
    )


def _is_child(state: ThreadState) -> bool:
    return state.thread is not None and state.thread.parent_thread is not None


def as_workspace(given: Config) -> Workspace:
    """A workspace from what configures one: itself, its directory, or its fields by name."""
    if isinstance(given, str | Path):
        return Workspace(given)
    if isinstance(given, Workspace):
        from bridle.sandbox.kinds import parse

        parse(given.sandbox)  # a name that means nothing is wrong whatever the directory
        return given
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"{type(given).__name__} is no workspace; give a Workspace, a directory, or a mapping."
        )
    fields = Workspace.__struct_fields__
    for name in given:
        if name not in fields:
            raise ConfigError(suggest(str(name), fields, what="workspace field"))
    return as_workspace(Workspace(**given))
