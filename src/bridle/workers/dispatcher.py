"""The embedded worker: drains the threads of this process's own sessions and their children.

Wakes are advisory and coalesced: however often a thread is woken, one drain at a time works on it,
and one more follows if it was woken meanwhile.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.errors import BridleError, RunError
from bridle.types.base import Moving
from bridle.types.events import (
    AnyEvent,
    InputAdmitted,
    RunEnded,
    RunPaused,
    RunResumed,
    SubagentStarted,
    ThreadCreated,
)
from bridle.types.tools import AGENT_KINDS
from bridle.workers.timers import Timers

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from bridle.journal.bus import Listener
    from bridle.journal.recorder import Journal
    from bridle.workers.drain import Drain

log = logging.getLogger("bridle.dispatcher")


class Dispatcher(Moving, kw_only=True):
    """Owns threads, wakes them, and knows when a tree of threads has come to rest."""

    journal: Journal
    drain: Drain
    tasks: TaskGroup
    roots: dict[str, str] = msgspec.field(default_factory=dict)
    failures: dict[str, BridleError] = msgspec.field(default_factory=dict)
    _draining: set[str] = msgspec.field(default_factory=set)
    _again: set[str] = msgspec.field(default_factory=set)
    _asking: set[str] = msgspec.field(default_factory=set)
    _timers: Timers | None = None
    _rested: dict[str, anyio.Event] = msgspec.field(
        default_factory=lambda: defaultdict(anyio.Event)
    )
    _watching: dict[str, list[Listener]] = msgspec.field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._timers = Timers(
            journal=self.journal, clock=self.drain.clock, tasks=self.tasks, passed=self._stir
        )
        self.journal.bus.subscribe(self._hear)

    async def adopt(self, thread_id: str) -> None:
        """Make a thread and its descendants ours to drain."""
        store, bus = self.journal.store, self.journal.bus
        tree = [thread_id, *await store.children(thread_id)]
        for name, head in (await store.heads(tree)).items():
            self.roots[name] = thread_id
            bus.begin(name, head)

    def watch(self, root: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` for every event of a thread and of those below it; returns how to stop.

        However many trees there are, an event costs only those who watch its own.
        """
        self._watching[root].append(listener)

        def stop() -> None:
            self._watching[root].remove(listener)
            if not self._watching[root]:
                del self._watching[root]

        return stop

    async def resume(self, thread_id: str) -> None:
        """Wake what an earlier process left unfinished in a thread's tree."""
        await self.adopt(thread_id)  # it may have children that were begun elsewhere
        tree = [name for name, root in self.roots.items() if root == thread_id]
        await self._restore(tree)
        for name in await self.journal.store.unfinished(tree):
            self.wake(name)

    async def _restore(self, tree: list[str]) -> None:
        """Know again what the parked runs of a tree wait for, and until when."""
        for name in tree:
            parked = await self.journal.store.runs(thread_id=name, limit=1)
            if not parked or parked[0].status != "awaiting":
                continue
            run = (await self.journal.fold(name)).run
            if run is not None:
                if any(call.pending_kind not in AGENT_KINDS for call in run.open_calls):
                    self._asking.add(name)
                assert self._timers is not None
                self._timers.restore(name, run)

    def wake(self, thread_id: str) -> None:
        """Drain a thread soon, unless everything here is ending: then it is left for later."""
        if self.tasks.cancel_scope.cancel_called:
            return
        if thread_id in self._draining:
            self._again.add(thread_id)
            return
        self._draining.add(thread_id)
        self.failures.pop(thread_id, None)
        self.tasks.start_soon(self._work, thread_id, name=f"drain {thread_id}")

    def busy(self, root: str) -> bool:
        """Whether any thread of a tree is being drained, or waits for nothing but a time.

        Where a person is asked too, the tree is at rest: they may take longer than any timer.
        """
        if any(self.roots.get(name) == root for name in self._draining):
            return True
        assert self._timers is not None
        timed = any(self.roots.get(name) == root for name in self._timers.threads)
        return (
            timed
            and not self.drain.paused
            and not any(self.roots.get(name) == root for name in self._asking)
        )

    def pause(self) -> None:
        """Let every drain rest at its next safe boundary; timers are not waited for any more."""
        self.drain.pause()
        for root in set(self.roots.values()):
            self._stir(root)

    async def rested(self, root: str) -> None:
        """Wait until nothing of a tree is being drained."""
        while self.busy(root):
            await self._rested[root].wait()

    async def _work(self, thread_id: str) -> None:
        root = self.roots.get(thread_id, thread_id)
        try:
            while True:
                self._again.discard(thread_id)
                await self._drain_once(thread_id)
                if thread_id not in self._again:
                    return
        finally:
            self._draining.discard(thread_id)
            self._stir(root)

    def _stir(self, thread_id: str) -> None:
        """Tell those who wait for a tree to rest when it does."""
        root = self.roots.get(thread_id, thread_id)
        if not self.busy(root):
            self._rested.pop(root, anyio.Event()).set()

    async def _drain_once(self, thread_id: str) -> None:
        try:
            await self.drain.run(thread_id)
        except BridleError as error:
            log.info("Thread %s cannot be drained: %s", thread_id, error)
            self.failures[thread_id] = error
        except Exception as error:  # one thread's defect must not stop the others
            log.exception("The drain of %s failed", thread_id)
            self.failures[thread_id] = RunError(f"{type(error).__name__}: {error}")

    def _hear(self, event: AnyEvent) -> None:
        match event:
            case ThreadCreated(thread=thread) if thread.parent_thread in self.roots:
                self.roots[event.thread_id] = self.roots[thread.parent_thread]
            case SubagentStarted() if event.thread_id in self.roots:
                self.roots[event.child_thread_id] = self.roots[event.thread_id]
            case InputAdmitted() if event.thread_id in self.roots:
                self.wake(event.thread_id)
            case RunPaused() if any(one.kind not in AGENT_KINDS for one in event.waiting):
                self._asking.add(event.thread_id)
            case RunPaused() | RunResumed() | RunEnded():
                self._asking.discard(event.thread_id)
            case _:
                pass
        root = self.roots.get(event.thread_id)
        if root is not None and self._timers is not None:
            self._timers.hear(event)
        if root in self._watching:
            for listener in tuple(self._watching[root]):
                listener(event)
