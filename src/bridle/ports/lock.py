"""A lock on threads of the host's own, beside the leases that protect every drain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable


class ThreadLock(Protocol):
    """Held while a session of this harness is attached to a thread; the methods may be async.

    `acquire` raises when somebody else has the thread: the session then stays where it was.
    """

    def acquire(self, thread_id: str) -> Awaitable[None] | None:
        """Take the lock of a thread."""
        ...

    def release(self, thread_id: str) -> Awaitable[None] | None:
        """Give it back."""
        ...
