"""A session's hold on a thread: the folded state, kept up to date, and the way into its inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.app.display import DisplayState
from bridle.app.view import SessionView
from bridle.errors import ConfigError, ThreadInUse
from bridle.types.base import Fixed
from bridle.types.events import AnyEvent, Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from bridle.app.blueprint import Blueprint
    from bridle.journal.recorder import Journal
    from bridle.journal.state import ThreadState
    from bridle.ports.clock import Clock
    from bridle.ports.ids import NewId
    from bridle.types.ops import Op
    from bridle.types.threads import Thread
    from bridle.workers.dispatcher import Dispatcher


class Engine(Fixed, frozen=True, kw_only=True):
    """The running parts of a harness that its sessions share."""

    journal: Journal
    dispatcher: Dispatcher
    new_id: NewId
    clock: Clock
    tasks: TaskGroup
    blueprint: Blueprint


class Attachment:
    """One thread at a time; what the parts of a session share."""

    def __init__(self, engine: Engine, template: Thread) -> None:
        self.engine = engine
        self.template = template
        self.view = SessionView()
        self.display = DisplayState()
        self.session_models: dict[str, str] = {}
        self._thread: Thread | None = None
        self._state: ThreadState | None = None
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def journal(self) -> Journal:
        """The way into every log."""
        return self.engine.journal

    @property
    def thread(self) -> Thread:
        """The thread that the session is attached to."""
        if self._thread is None:
            raise ConfigError("The session has no thread; create or switch to one.")
        return self._thread

    @property
    def state(self) -> ThreadState:
        """The thread up to the last event that this process knows of."""
        if self._state is None:
            raise ConfigError("The session has no thread; create or switch to one.")
        return self._state

    async def attach(self, thread: Thread) -> None:
        """Hold another thread from now on."""
        self.detach()
        store = self.journal.store
        await self.engine.dispatcher.adopt(thread.id)
        self._unsubscribe = self.engine.dispatcher.watch(thread.id, self._hear)
        self._thread = thread
        self._state = await self.journal.fold(thread.id)
        tree = [thread.id, *await store.children(thread.id)]
        self.view.load(await store.pending(threads=tree))
        self.display.reset(
            mode_id=self._state.mode_id,
            pending=self.view.pending,
            tasks=self._state.tasks,
            usage=self._state.usage,
            cost_usd=self._state.cost_usd,
        )

    def detach(self) -> None:
        """Hold no thread."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._unsubscribe = None
        self._thread = None
        self._state = None

    def change_resource(self, resource_id: str) -> None:
        """Hold no thread, and look for threads of another resource from now on."""
        self.detach()
        self.template = msgspec.structs.replace(self.template, resource_id=resource_id)

    async def reload(self) -> None:
        """Read the thread's row again."""
        self._thread = await self.journal.store.thread(self.thread.id)

    async def admit(self, op: Op) -> None:
        """Put an op into the thread's inbox."""
        await self.journal.admit(self.thread.id, op, input_id=self.engine.new_id("in"))

    async def admit_alone(self, op: Op) -> None:
        """Put an op into the inbox, unless another process works on the thread."""
        lease = await self.journal.store.lease(self.thread.id)
        if lease is not None and lease.owner != self.engine.dispatcher.drain.owner:
            raise ThreadInUse(self.thread.id, str(lease.owner), lease.since)
        await self.admit(op)

    async def settle(self, op: Op) -> None:
        """Put an op into the inbox and wait until it has taken effect."""
        await self.admit_alone(op)
        await self.engine.dispatcher.rested(self.thread.id)

    def _hear(self, event: AnyEvent) -> None:
        thread = self._thread
        if thread is None:
            return
        own = event.thread_id == thread.id
        self.view.apply(event)
        self.display.apply(event if own else None, self.view.pending)
        state = self._state
        if own and state is not None and isinstance(event, Event) and event.seq == state.seq + 1:
            state.apply(event)
