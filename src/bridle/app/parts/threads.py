"""The threads of a session's resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ConfigError, UserError
from bridle.types.events import (
    MessageEnded,
    SettingsChanged,
    StateChanged,
    SubagentModelChanged,
    TasksUpdated,
    ThreadChanged,
    ThreadCreated,
    ThreadDeleted,
    ThreadRenamed,
)
from bridle.types.messages import settled_messages
from bridle.types.ops import SwitchMode, SwitchModel
from bridle.types.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridle.app.attachment import Attachment
    from bridle.journal.state import ThreadState
    from bridle.ports.ids import NewId
    from bridle.types.events import AnyEvent, Event
    from bridle.types.messages import Message


class ThreadSettings:
    """Values kept with a thread; each is written alone, so writers never lose one another's."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    async def get(self, key: str, default: Any = None) -> Any:
        """Read a setting."""
        settings = await self._attachment.journal.store.settings(self._attachment.thread.id)
        return settings.get(key, default)

    async def set(self, key: str, value: Any) -> None:
        """Write a setting."""
        changed = SettingsChanged(key=key, value=value)
        await self._attachment.journal.append(self._attachment.thread.id, changed)


class SessionThreads:
    """Create, switch, list, rename, clone and delete threads."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._journal = attachment.journal
        self.settings = ThreadSettings(attachment)

    @property
    def current(self) -> Thread | None:
        """The session's thread; None after its resource was changed or its thread deleted."""
        return self._attachment.current

    async def create(self, title: str = "") -> Thread:
        """Begin a new thread and switch to it."""
        resource = self._attachment.template.resource_id
        thread, created = await self._begin(title=title, resource_id=resource)
        return await self._come(thread.id, created)

    async def switch(self, id: str) -> Thread:
        """Attach to another thread; a missing one changes nothing."""
        return await self._come(id)

    async def _come(self, id: str, created: AnyEvent | None = None) -> Thread:
        found = await self._journal.store.thread(id)
        if found is None:
            raise ConfigError(f"There is no thread {id!r}.")
        previous = self._attachment.thread_id
        await self._attachment.attach(found, created)
        if previous is not None and previous != id:
            changed = ThreadChanged(previous_thread_id=previous)
            await self._journal.append(id, changed)
        return self._attachment.thread

    async def newest(self) -> Thread | None:
        """The thread of this resource that was used last."""
        listed = await self.list()
        return listed[0] if listed else None

    async def list(
        self, *, all_resources: bool = False, include_forks: bool = False
    ) -> Sequence[Thread]:
        """List threads, newest first; those of subagents and forks only when asked for."""
        resource = None if all_resources else self._attachment.template.resource_id
        return await self._journal.store.threads(resource_id=resource, hidden=include_forks)

    async def rename(self, title: str) -> None:
        """Give the thread another title."""
        await self._journal.append(self._attachment.thread.id, ThreadRenamed(title=title))
        await self._attachment.reload()

    async def clone(
        self, source: str | None = None, title: str | None = None, resource_id: str | None = None
    ) -> Thread:
        """Copy a thread: messages, settings, state, tasks and models; then switch to the copy.

        The source is not touched. A run that is going on there is not copied.
        """
        origin = await self._journal.store.thread(source or self._attachment.thread.id)
        if origin is None:
            raise ConfigError(f"There is no thread {source!r}.")
        state = await self._journal.fold(origin.id)
        settings = await self._journal.store.settings(origin.id)
        copied, created = await self._begin(
            title=title if title is not None else origin.title,
            resource_id=resource_id or origin.resource_id,
            cloned_from=origin.id,
        )
        new_id = self._attachment.engine.new_id
        copies = [
            MessageEnded(message=copied_message(message, new_id))
            for message in settled_messages(state.messages)
        ]
        values = [SettingsChanged(key=key, value=value) for key, value in settings.items()]
        await self._journal.append(copied.id, *copies, *values, *_kept(state))
        await self._come(copied.id, created)
        for mode_id, model_id in state.models.items():
            op = SwitchModel(model_id=model_id, mode_id=mode_id, scope="thread")
            await self._attachment.inbox.settle(op)
        if state.mode_id is not None:
            previous = self._attachment.engine.blueprint.default_mode.id
            mode = SwitchMode(mode_id=state.mode_id, previous_mode_id=previous)
            await self._attachment.inbox.settle(mode)
        return self._attachment.thread

    async def delete(self, id: str) -> None:
        """Delete a thread for its user; the session is left without one if it was its own."""
        if await self._journal.store.thread(id) is None:
            raise ConfigError(f"There is no thread {id!r}.")
        lease = await self._journal.store.lease(id)
        if lease is not None:
            raise ConfigError(f"Thread {id!r} is being worked on by {lease.owner}; abort it first.")
        (deleted,) = await self._journal.append(id, ThreadDeleted())
        if self._attachment.thread_id == id:
            await self._attachment.leave()
        else:
            self._attachment.heard(deleted)

    async def messages(
        self, *, limit: int | None = None, thread_id: str | None = None
    ) -> Sequence[Message]:
        """The messages of a thread, oldest first; `limit` keeps the newest."""
        if limit is not None and limit < 0:
            raise UserError(f"The limit of messages is {limit}; it cannot be negative.")
        id = thread_id or self._attachment.thread.id
        if await self._journal.store.thread(id) is None:
            raise ConfigError(f"There is no thread {id!r}.")
        messages = (await self._journal.fold(id)).messages
        return tuple(messages if limit is None else messages[max(0, len(messages) - limit) :])

    async def first_user_message(self, id: str) -> Message | None:
        """The message that a thread began with."""
        return (await self.first_user_messages([id])).get(id)

    async def first_user_messages(self, ids: Sequence[str]) -> Mapping[str, Message]:
        """The messages that many threads began with, in one query."""
        return await self._journal.store.first_messages(ids)

    async def _begin(
        self, *, title: str, resource_id: str, cloned_from: str | None = None
    ) -> tuple[Thread, AnyEvent]:
        template = self._attachment.template
        thread_id = self._attachment.engine.new_id("thr")
        created = Thread(
            id=thread_id,
            resource_id=resource_id,
            title=title,
            harness_id=template.harness_id,
            workspace=template.workspace,
            metadata={"cloned_from": cloned_from} if cloned_from else {},
        )
        (event,) = await self._journal.append(thread_id, ThreadCreated(thread=created))
        return created, event


def _kept(state: ThreadState) -> Iterator[Event]:
    """The events that give a copy the state, the tasks and the models of subagents."""
    if state.values is not None:
        yield StateChanged(state=state.values, changed_keys=tuple(state.values))
    if state.tasks:
        yield TasksUpdated(call_id="", tasks=state.tasks)
    for kind, model_id in state.subagent_models.items():
        yield SubagentModelChanged(model_id=model_id, agent_type=kind or None, scope="thread")


def copied_message(message: Message, new_id: NewId) -> Message:
    """The same message under an id of its own; what is pinned stays so."""
    return msgspec.structs.replace(message, id=new_id("pin" if message.pinned else "msg"))
