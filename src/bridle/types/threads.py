"""A thread: one conversation, scoped by a resource."""

from typing import Any

import msgspec


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a thread without reading its log.

    `parent_call` is set on the thread of a subagent: the call in the parent's thread that waits
    for it. `hidden` threads (children, forks) are left out of lists by default.
    """

    id: str
    resource_id: str
    title: str = ""
    created_at: str = ""
    updated_at: str = ""
    metadata: dict[str, Any] = {}
    harness_id: str | None = None
    workspace: str | None = None
    parent_thread: str | None = None
    parent_run: str | None = None
    parent_call: str | None = None
    depth: int = 0
    hidden: bool = False
    messages: int = 0


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Who drains a thread: precise enough to know on the same host whether it still lives.

    `opened` tells the harnesses of one process apart, each time that one is opened.
    """

    host: str
    boot: str
    pid: int
    started: str
    opened: int = 0

    @property
    def key(self) -> str:
        """What tells this owner from every other, also from one that gets its number later."""
        return f"{self.host}/{self.boot}/{self.pid}/{self.started}/{self.opened}"

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}"


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to drain a thread until `expires`; every write of the drain carries the epoch."""

    thread_id: str
    owner: Owner
    epoch: int
    since: str
    expires: float
