"""A session's hold on a thread: the folded state, kept up to date, and the way into its inbox."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.app.scope import Waiters
from bridle.app.view import Shown
from bridle.errors import ConfigError, HeadMoved, LeaseLost, ThreadInUse
from bridle.types.base import Fixed
from bridle.types.events import AnyEvent, Event, MessageEnded, ThreadRenamed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from bridle.app.blueprint import Blueprint
    from bridle.app.locks import ThreadLocks
    from bridle.app.workspaces import Furnished, Workspaces
    from bridle.journal.recorder import Journal
    from bridle.journal.state import ThreadState
    from bridle.ports.clock import Clock
    from bridle.ports.ids import NewId
    from bridle.types.ops import Op
    from bridle.types.threads import Lease, Thread
    from bridle.workers.dispatcher import Dispatcher


class Engine(Fixed, frozen=True, kw_only=True):
    """The running parts of a harness that its sessions share."""

    journal: Journal
    dispatcher: Dispatcher
    new_id: NewId
    clock: Clock
    tasks: TaskGroup
    blueprint: Blueprint
    workspaces: Workspaces
    locks: ThreadLocks
    waiters: Waiters = msgspec.field(default_factory=Waiters)


class Inbox:
    """The way into the inboxes of a session's threads."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self.starting: dict[str, Callable[[], Awaitable[None]]] = {}
        """Runs that were started and are not admitted yet, in order, with how to wait for that."""

    async def started(self) -> None:
        """Wait until the runs that were started before now are admitted, or refused."""
        for begin in tuple(self.starting.values()):
            await begin()

    async def admit(self, op: Op, thread_id: str | None = None) -> None:
        """Put an op into the inbox of a thread, by default of the present one."""
        here = self._attachment
        name = thread_id or here.thread.id
        await self.started()
        await here.journal.admit(name, op, input_id=here.engine.new_id("in"))

    async def held_elsewhere(self, thread_id: str) -> Lease | None:
        """The lease of another process or harness that works on a thread, if one does."""
        lease = await self._attachment.journal.store.lease(thread_id)
        ours = lease is None or self._attachment.engine.dispatcher.drain.holds(lease)
        return None if ours else lease

    async def admit_alone(self, op: Op, thread_id: str, input_id: str) -> None:
        """Put an op into a thread's inbox, unless somebody else works on it when it arrives.

        A lease that is taken between the look and the commit moves the log and the epoch.
        """
        journal = self._attachment.journal
        ours = self._attachment.engine.dispatcher.drain.holds
        while True:
            head = await journal.store.head(thread_id)
            lease = await journal.store.lease(thread_id)
            if lease is not None and not ours(lease):
                raise ThreadInUse(thread_id, str(lease.owner), lease.since)
            seen = {"expect": head.seq} if lease is None else {"epoch": lease.epoch}
            with contextlib.suppress(HeadMoved, LeaseLost):
                await journal.admit(thread_id, op, input_id=input_id, **seen)
                return

    async def settle(self, op: Op) -> None:
        """Put an op into the inbox and wait until it has taken effect."""
        engine, name = self._attachment.engine, self._attachment.thread.id
        await self.started()
        await self.admit_alone(op, name, engine.new_id("in"))
        await engine.dispatcher.rested(name)


class Attachment:
    """One thread at a time; what the parts of a session share."""

    def __init__(self, engine: Engine, template: Thread) -> None:
        self.engine = engine
        self.template = template
        self.inbox = Inbox(self)
        self.shown = Shown()
        self.session_models: dict[str, str] = {}
        self._thread: Thread | None = None
        self._state: ThreadState | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self.heard: Callable[[AnyEvent], None] = lambda _event: None
        """Called with every event of the thread, when the session has taken it into account."""

    @property
    def journal(self) -> Journal:
        """The way into every log."""
        return self.engine.journal

    @property
    def current(self) -> Thread | None:
        """The thread that the session is attached to, if there is one."""
        return self._thread

    @property
    def thread(self) -> Thread:
        """The thread that the session is attached to; raises where there is none."""
        if self._thread is None:
            raise ConfigError("The session has no thread; create or switch to one.")
        return self._thread

    @property
    def state(self) -> ThreadState:
        """The thread up to the last event that this process knows of."""
        if self._state is None:
            raise ConfigError("The session has no thread; create or switch to one.")
        return self._state

    @property
    def furnished(self) -> Furnished | None:
        """The workspace of the thread, as far as it is open."""
        return self.engine.workspaces.known(self.thread.id)

    @property
    def blueprint(self) -> Blueprint:
        """What the thread's runs are made from, in its workspace where that is open."""
        found = self.furnished
        return self.engine.blueprint if found is None else found.blueprint

    @property
    def thread_id(self) -> str | None:
        """The id of the thread, if there is one."""
        return None if self._thread is None else self._thread.id

    async def attach(self, thread: Thread, created: AnyEvent | None = None) -> None:
        """Hold another thread from now on; a host's lock that refuses it changes nothing."""
        if thread.id != self.thread_id:
            await self.engine.locks.acquire(thread.id)
            await self._leave()
        else:
            self._detach()
        try:
            await self._hold(thread)
        except BaseException:
            self._detach()
            self.shown.clear()
            with anyio.CancelScope(shield=True):
                await self.engine.locks.release(thread.id)
            raise
        if created is not None:
            self.heard(created)

    async def _hold(self, thread: Thread) -> None:
        store = self.journal.store
        await self.engine.dispatcher.adopt(thread.id)
        self._unsubscribe = self.engine.dispatcher.watch(thread.id, self._hear)
        self._thread = thread
        self._state = await self.journal.fold(thread.id)
        tree = [thread.id, *await store.children(thread.id)]
        await self.shown.load(self.journal, self._state, tree)

    async def leave(self) -> None:
        """Hold no thread, and show none."""
        await self._leave()
        self.shown.clear()

    async def _leave(self) -> None:
        left = self.thread_id
        self._detach()
        if left is not None:
            await self.engine.locks.release(left)

    def _detach(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._unsubscribe = None
        self._thread = None
        self._state = None

    async def change_resource(self, resource_id: str) -> None:
        """Hold no thread, and look for threads of another resource from now on."""
        await self.leave()
        self.template = msgspec.structs.replace(self.template, resource_id=resource_id)

    async def reload(self) -> None:
        """Read the thread's row again."""
        self._thread = await self.journal.store.thread(self.thread.id)

    def _hear(self, event: AnyEvent) -> None:
        thread = self._thread
        if thread is None:
            return
        own = event.thread_id == thread.id
        if own and isinstance(event, Event) and not event.quiet:
            self._thread = _touched(thread, event)
        state = self._state
        if state is None:
            return  # it is being folded, this event with it
        if own and isinstance(event, Event) and event.seq == state.seq + 1:
            state.apply(event)
        self.shown.apply(event, state)
        if own:
            self.heard(event)


def _touched(thread: Thread, event: Event) -> Thread:
    """The thread after one more event, as a list of threads would show it."""
    title = event.title if isinstance(event, ThreadRenamed) else thread.title
    messages = thread.messages + isinstance(event, MessageEnded)
    return msgspec.structs.replace(thread, title=title, updated_at=event.at, messages=messages)
