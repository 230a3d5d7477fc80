"""The threads of a session's resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.errors import ConfigError
from bridle.types.events import (
    MessageEnded,
    SettingsChanged,
    ThreadCreated,
    ThreadDeleted,
    ThreadRenamed,
)
from bridle.types.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.journal.recorder import Journal
    from bridle.ports.ids import NewId
    from bridle.types.messages import Message
    from bridle.workers.dispatcher import Dispatcher


class ThreadSettings:
    """Values kept with a thread; each is written alone, so writers never lose one another's."""

    def __init__(self, threads: SessionThreads) -> None:
        self._threads = threads

    async def get(self, key: str, default: Any = None) -> Any:
        """Read a setting."""
        store = self._threads.journal.store
        return (await store.settings(self._threads.current.id)).get(key, default)

    async def set(self, key: str, value: Any) -> None:
        """Write a setting."""
        journal = self._threads.journal
        await journal.append(self._threads.current.id, SettingsChanged(key=key, value=value))


class SessionThreads:
    """Create, switch, list, rename and delete threads."""

    def __init__(
        self,
        *,
        journal: Journal,
        dispatcher: Dispatcher,
        new_id: NewId,
        template: Thread,
    ) -> None:
        self.journal = journal
        self._dispatcher = dispatcher
        self._new_id = new_id
        self._template = template
        self._current: Thread | None = None
        self.settings = ThreadSettings(self)

    @property
    def current(self) -> Thread:
        """The session's thread."""
        if self._current is None:
            raise ConfigError("The session has no thread; create or switch to one.")
        return self._current

    async def create(self, title: str = "") -> Thread:
        """Begin a new thread and switch to it."""
        thread_id = self._new_id("thr")
        created = Thread(
            id=thread_id,
            resource_id=self._template.resource_id,
            title=title,
            harness_id=self._template.harness_id,
            workspace=self._template.workspace,
        )
        await self.journal.append(thread_id, ThreadCreated(thread=created))
        return await self.switch(thread_id)

    async def switch(self, id: str) -> Thread:
        """Attach to another thread; a missing one changes nothing."""
        found = await self.journal.store.thread(id)
        if found is None:
            raise ConfigError(f"There is no thread {id!r}.")
        await self._dispatcher.adopt(found.id)
        self._current = found
        return found

    async def newest(self) -> Thread | None:
        """The thread of this resource that was used last."""
        listed = await self.list()
        return listed[0] if listed else None

    async def list(
        self, *, all_resources: bool = False, include_forks: bool = False
    ) -> Sequence[Thread]:
        """List threads, newest first."""
        resource = None if all_resources else self._template.resource_id
        return await self.journal.store.threads(resource_id=resource, hidden=include_forks)

    async def rename(self, title: str) -> None:
        """Give the thread another title."""
        await self.journal.append(self.current.id, ThreadRenamed(title=title))
        self._current = await self.journal.store.thread(self.current.id)

    async def delete(self, id: str) -> None:
        """Delete a thread for its user; the session is left without one if it was its own."""
        if await self.journal.store.thread(id) is None:
            raise ConfigError(f"There is no thread {id!r}.")
        await self.journal.append(id, ThreadDeleted())
        if self._current is not None and self._current.id == id:
            self._current = None

    async def messages(
        self, *, limit: int | None = None, thread_id: str | None = None
    ) -> Sequence[Message]:
        """The messages of a thread, oldest first; `limit` keeps the newest."""
        state = await self.journal.load(thread_id or self.current.id)
        return state.messages if limit is None else state.messages[-limit:]

    async def first_user_message(self, id: str) -> Message | None:
        """The message that a thread began with."""
        for event in await self.journal.store.events(id):
            if isinstance(event, MessageEnded) and event.message.role == "user":
                return event.message
        return None
