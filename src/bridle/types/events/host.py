"""Events about what the harness keeps beside its threads: workspaces and heartbeats."""

from typing import ClassVar, Literal

from bridle.types.events.base import Event, Origin

WorkspaceStatus = Literal["initializing", "ready", "error", "destroying", "destroyed"]


class WorkspaceStatusChanged(Event, frozen=True, kw_only=True, tag="workspace_status_changed"):
    """The workspace that this thread works in has come to another state."""

    origin: ClassVar[Origin] = "external"
    quiet: ClassVar[bool] = True

    status: WorkspaceStatus


class WorkspaceReady(Event, frozen=True, kw_only=True, tag="workspace_ready"):
    """The workspace can be used."""

    origin: ClassVar[Origin] = "external"
    quiet: ClassVar[bool] = True

    root: str


class WorkspaceFailed(Event, frozen=True, kw_only=True, tag="workspace_error"):
    """The workspace cannot be used; runs that need it end with this error."""

    origin: ClassVar[Origin] = "external"
    quiet: ClassVar[bool] = True

    error: str


class HeartbeatChanged(Event, frozen=True, kw_only=True, tag="heartbeat"):
    """A heartbeat began to fail (`error` says how), or works again."""

    origin: ClassVar[Origin] = "external"
    quiet: ClassVar[bool] = True

    heartbeat_id: str
    ok: bool
    error: str | None = None
