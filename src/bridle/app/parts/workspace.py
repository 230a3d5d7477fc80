"""The session's workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridle.app.workspace import Workspace


class SessionWorkspace:
    """The directory that the tools work in."""

    def __init__(self, workspace: Workspace | None) -> None:
        self._workspace = workspace

    @property
    def configured(self) -> bool:
        """Whether the harness has a workspace."""
        return self._workspace is not None

    @property
    def ready(self) -> bool:
        """Whether it can be used now."""
        return self._workspace is not None and self._workspace.exists

    def get(self) -> Workspace | None:
        """The workspace, if there is one."""
        return self._workspace
