"""Events about a thread as a whole."""

from typing import Any, ClassVar

import msgspec

from bridle.types.events.base import Event, Origin
from bridle.types.ops import Op
from bridle.types.threads import Owner, Thread


class ThreadCreated(Event, frozen=True, kw_only=True, tag="thread_created"):
    """The first event of every thread."""

    origin: ClassVar[Origin] = "external"

    thread: Thread


class ThreadChanged(Event, frozen=True, kw_only=True, tag="thread_changed"):
    """A session came to this thread from another one."""

    origin: ClassVar[Origin] = "external"

    previous_thread_id: str | None


class ThreadRenamed(Event, frozen=True, kw_only=True, tag="thread_renamed"):
    """The thread has another title."""

    origin: ClassVar[Origin] = "external"

    title: str


class ThreadDeleted(Event, frozen=True, kw_only=True, tag="thread_deleted"):
    """The thread is gone for its user; this is its last event."""

    origin: ClassVar[Origin] = "external"


class SettingsChanged(Event, frozen=True, kw_only=True, tag="settings_changed"):
    """One setting of the thread has another value; `call_id` when a tool changed it."""

    origin: ClassVar[Origin] = "external"

    key: str
    value: Any
    call_id: str | msgspec.UnsetType = msgspec.UNSET


class InputAdmitted(Event, frozen=True, kw_only=True, tag="input_admitted"):
    """An op is in the inbox; it will act once, whatever crashes."""

    origin: ClassVar[Origin] = "external"

    input_id: str
    op: Op


class FollowUpQueued(Event, frozen=True, kw_only=True, tag="follow_up_queued"):
    """The number of runs that wait behind the present one."""

    origin: ClassVar[Origin] = "external"

    count: int


class LeaseTaken(Event, frozen=True, kw_only=True, tag="lease_taken"):
    """A drain of the thread begins; the one before it, if any, is over."""

    origin: ClassVar[Origin] = "external"

    owner: Owner
    epoch: int
    took_over: str | None = None


class PermissionGranted(Event, frozen=True, kw_only=True, tag="permission_granted"):
    """The user allowed a kind of call for as long as the owner of the session lives.

    It stays in the log for audit; another process does not take it over. `call_id` when the model
    asked for it with a tool.
    """

    scope: str
    matches: str
    owner: str
    consumes: tuple[str, ...] = ()
    call_id: str | msgspec.UnsetType = msgspec.UNSET
