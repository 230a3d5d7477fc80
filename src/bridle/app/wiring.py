"""The composition root: parts are put together here and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bridle.agent.turn import Turn
from bridle.app.attachment import Engine
from bridle.errors import ConfigError
from bridle.journal.watch import Watcher
from bridle.store.artefacts import FileArtefacts, MemoryArtefacts
from bridle.store.owner import new_owner
from bridle.store.sqlite.store import SqliteStore
from bridle.workers.dispatcher import Dispatcher
from bridle.workers.drain import Drain

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from bridle.agent.setup import Prepare
    from bridle.agent.step import NextDelay
    from bridle.app.blueprint import Blueprint
    from bridle.app.locks import ThreadLocks
    from bridle.app.workspaces import Workspaces
    from bridle.journal.recorder import Journal, ThreadLog
    from bridle.ports.artefacts import Artefacts
    from bridle.ports.clock import Clock
    from bridle.ports.ids import NewId
    from bridle.ports.store import Store


def open_store(url: str, clock: Clock) -> tuple[Store, Artefacts]:
    """Open the store that a URL names, with the artefacts beside it."""
    path = store_path(url)
    if path is None:
        return SqliteStore(None, clock=clock), MemoryArtefacts()
    return SqliteStore(path, clock=clock), FileArtefacts(path.parent / "artefacts")


def store_path(url: str) -> Path | None:
    """The file that a URL names, None for the memory; raises `ConfigError` for any other store."""
    if url == "memory:":
        return None
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite":
        path = Path(rest[1:]).expanduser()
        if not str(path) or str(path) == ".":
            raise ConfigError(f"The store {url!r} names no file; write sqlite:///data.db.")
        return path
    raise ConfigError(
        f"Unknown store {url!r}; have sqlite:///relative.db, sqlite:////absolute.db, memory:."
    )


def check_store(given: object) -> None:
    """Refuse what is neither the URL of a store nor one, before anything is opened."""
    if isinstance(given, str):
        store_path(given)
    elif given is not None and not hasattr(given, "commit"):
        raise ConfigError(
            f"{given!r} is no store; give a URL such as sqlite:///data.db, or a Store."
        )


def build_engine(
    *,
    blueprint: Blueprint,
    clock: Clock,
    new_id: NewId,
    prepare: Prepare,
    next_delay: NextDelay,
    tasks: TaskGroup,
    journal: Journal,
    workspaces: Workspaces,
    locks: ThreadLocks,
) -> Engine:
    """Put journal, drains and dispatcher together."""

    def make_turn(log: ThreadLog) -> Turn:
        return Turn(log=log, prepare=prepare, clock=clock, next_delay=next_delay)

    drain = Drain(journal=journal, make_turn=make_turn, owner=new_owner(), clock=clock)
    dispatcher = Dispatcher(journal=journal, drain=drain, tasks=tasks)
    watcher = Watcher(journal=journal, watched=lambda: journal.bus.threads.union(dispatcher.roots))
    tasks.start_soon(watcher.run, name="bridle watcher")
    return Engine(
        journal=journal,
        dispatcher=dispatcher,
        new_id=new_id,
        clock=clock,
        tasks=tasks,
        blueprint=blueprint,
        workspaces=workspaces,
        locks=locks,
    )
