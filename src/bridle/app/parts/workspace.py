"""The session's workspace."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.app.attachment import Attachment
    from bridle.app.workspace import Workspace
    from bridle.app.workspaces import Opened


class SessionWorkspace:
    """The directory that the tools of this session's runs work in."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._workspaces = attachment.engine.workspaces

    @property
    def configured(self) -> bool:
        """Whether the harness has a workspace, or makes one per request."""
        return self._workspaces.configured

    @property
    def ready(self) -> bool:
        """Whether it is open; one that the caller makes per request always counts as ready."""
        if not self._workspaces.configured:
            return False
        return self._workspaces.own is None or self._attachment.furnished is not None

    def get(self) -> Workspace | None:
        """The workspace, as far as it is known without asking for it."""
        found = self._attachment.furnished
        return found.workspace if found is not None else self._workspaces.own

    async def resolve(self, context: Mapping[str, Any] | None = None) -> Workspace | None:
        """Open the workspace of a request with this context; raises when it cannot be used."""
        opened = await self.look(context)
        if opened.error is not None:
            raise opened.error
        return opened.found.workspace if opened.found is not None else None

    async def look(self, context: Mapping[str, Any] | None = None) -> Opened:
        """The same, with the error returned: it is recorded, and raised where it matters."""
        state = self._attachment.state
        blueprint = self._attachment.engine.blueprint
        request = blueprint.context(state, blueprint.mode(state.mode_id), dict(context or {}))
        opened = await self._workspaces.open(state, request)
        if opened.news:
            await self._attachment.journal.append(state.id, *opened.news)
        return opened

    async def destroy(self) -> None:
        """Let go the harness's own workspace; the next use opens it again."""
        thread_id = self._attachment.thread.id
        record = partial(self._attachment.journal.append, thread_id)
        await self._workspaces.destroy({thread_id: record})
