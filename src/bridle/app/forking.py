"""Fork a run: its conversation in a new thread and its files in a new directory, as of an event.

The parent is only read. Files that snapshots do not cover (ignored ones) are not copied.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bridle.app.parts.threads import copied_message
from bridle.app.project import resource_of
from bridle.app.records import open_undo
from bridle.errors import ConfigError, RunError
from bridle.journal.bus import Bus
from bridle.journal.recorder import Journal
from bridle.journal.state import ThreadState
from bridle.ports.clock import SystemClock
from bridle.ports.ids import random_ids
from bridle.types.base import Fact
from bridle.types.events import (
    CheckpointTaken,
    MessageEnded,
    RunEnded,
    SettingsChanged,
    ThreadCreated,
)
from bridle.types.messages import settled_messages
from bridle.types.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.ports.store import Store
    from bridle.sandbox.checkpoints import Checkpoints
    from bridle.types.events import DurableEvent
    from bridle.types.runs import RunRow

SAFE_GIT = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""A repository's own programs do not run when it is forked."""


class Forked(Fact, frozen=True, kw_only=True):
    """The new thread and directory; `kept` are files that could not be taken back, and why."""

    thread_id: str
    directory: str
    worktree: bool
    forked_from: str
    messages: int
    taken_back: tuple[str, ...]
    kept: tuple[str, ...]


async def fork(
    store: Store, row: RunRow, *, seq: int | None, name: str | None, directory: Path | None = None
) -> Forked:
    """Fork a run at an event of its thread, or at its end."""
    events = await store.events(row.thread_id)
    place = seq if seq is not None else _end(events, row.run_id)
    if not 0 < place <= len(events):
        raise ConfigError(f"{row.thread_id} has events 1 to {len(events)}, not {place}.")
    checkpoints = (await open_undo(store, row)).checkpoints
    target = _target(checkpoints, directory, name or f"fork-{place}")
    worktree = await _make(checkpoints, target)
    inside = target / checkpoints.scope if worktree else target
    inside.mkdir(parents=True, exist_ok=True)
    await checkpoints.copy(str(inside))
    taken_back, kept = await _rewind(store, checkpoints, events[place - 1], inside)
    thread_id, messages = await _copy_thread(store, events[:place], inside, name)
    return Forked(
        thread_id=thread_id,
        directory=str(inside),
        worktree=worktree,
        forked_from=f"{row.thread_id}.{place}",
        messages=messages,
        taken_back=tuple(dict.fromkeys(taken_back)),
        kept=tuple(dict.fromkeys(kept)),
    )


def _end(events: Sequence[DurableEvent], run_id: str) -> int:
    ends = [e.seq for e in events if isinstance(e, RunEnded) and e.run_id == run_id]
    return ends[-1] if ends else len(events)


def _target(checkpoints: Checkpoints, directory: Path | None, name: str) -> Path:
    """A directory beside the project that does not exist yet."""
    top = Path(checkpoints.repository.source.top)
    if directory is None and ("/" in name or name in (".", "..")):
        raise ConfigError(f"{name!r} cannot be part of a directory's name.")
    target = (directory or top.with_name(f"{top.name}-{name}")).absolute()
    if target.exists():
        raise ConfigError(f"{target} exists already; give the fork another NAME.")
    if target.resolve().is_relative_to(top):
        raise ConfigError(f"{target} lies in the project itself; choose a directory outside.")
    return target


async def _make(checkpoints: Checkpoints, target: Path) -> bool:
    """A worktree of the project's repository where there is one, else a plain directory."""
    source = checkpoints.repository.source
    if source.objects and await _git(
        checkpoints, source.top, "rev-parse", "-q", "--verify", "HEAD"
    ):
        added = await _git(
            checkpoints, source.top, "worktree", "add", "--no-checkout", "--detach", str(target)
        )
        if not added or not await _git(checkpoints, str(target), "read-tree", "HEAD"):
            raise RunError(f"git could not make a worktree at {target}.")
        return True
    return False


async def _git(checkpoints: Checkpoints, cwd: str, *arguments: str) -> bool:
    argv = ("git", *SAFE_GIT, *arguments)
    ended = await checkpoints.repository.processes.run(argv, sandbox=None, cwd=cwd, timeout=60)
    return ended.exit_code == 0


async def _rewind(
    store: Store, checkpoints: Checkpoints, event: DurableEvent, root: Path
) -> tuple[list[str], list[str]]:
    """Take back, in the copy, what calls did to the workspace after an event, newest first."""
    later: list[CheckpointTaken] = []
    for thread in await store.threads(hidden=True):
        if thread.workspace != checkpoints.root:
            continue
        for found in await store.events(thread.id):
            own = found.thread_id == event.thread_id
            after = found.seq > event.seq if own else found.at > event.at
            if isinstance(found, CheckpointTaken) and after:
                later.append(found)
    restored: list[str] = []
    kept: list[str] = []
    for taken in sorted(later, key=lambda one: one.at, reverse=True):
        if taken.problem is not None:
            kept.append(f"{taken.call_id}: {taken.problem}")
            continue
        result = await checkpoints.restore(taken.after, taken.before, root=str(root))
        restored += [*result.restored, *result.merged]
        kept += [f"{conflict.path}: {conflict.why}" for conflict in result.conflicts]
    return restored, kept


async def _copy_thread(
    store: Store, events: Sequence[DurableEvent], root: Path, name: str | None
) -> tuple[str, int]:
    """The conversation as it was, in a new thread that works in the copy."""
    state = ThreadState(events[0].thread_id)
    for event in events:
        state.apply(event)
    origin = state.thread
    if origin is None:
        raise ConfigError(f"Thread {events[0].thread_id} does not begin as a thread does.")
    new_id = random_ids(SystemClock())
    created = Thread(
        id=new_id("thr"),
        resource_id=resource_of(root),
        title=name or f"fork of {origin.title}".strip(),
        harness_id=origin.harness_id,
        workspace=str(root),
        metadata={"forked_from": events[-1].id},
    )
    copies = [
        MessageEnded(message=copied_message(message, new_id))
        for message in settled_messages(state.messages)
    ]
    values = {e.key: e.value for e in events if isinstance(e, SettingsChanged)}
    journal = Journal(store=store, bus=Bus())
    await journal.append(
        created.id,
        ThreadCreated(thread=created),
        *copies,
        *(SettingsChanged(key=key, value=value) for key, value in values.items()),
    )
    return created.id, len(copies)
