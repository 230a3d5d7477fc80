"""The agent's task list, for a user interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.app.attachment import Attachment
    from bridle.app.display import DisplayState
    from bridle.types.tasks import Task


class SessionTasks:
    """Look at the tasks; put an earlier list back on display."""

    def __init__(self, attachment: Attachment, display: DisplayState) -> None:
        self._attachment = attachment
        self._display = display

    @property
    def list(self) -> tuple[Task, ...]:
        """The tasks as the agent last wrote them."""
        return self._attachment.state.tasks

    async def restore(self, tasks: Iterable[Task]) -> None:
        """Show these tasks; the agent's own list is not touched and no event is recorded."""
        self._display.restore_tasks(tuple(tasks))
