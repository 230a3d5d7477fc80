"""The agent's task list, for a user interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import UserError
from bridle.types.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridle.app.attachment import Attachment
    from bridle.app.display import DisplayState


class SessionTasks:
    """Look at the tasks; put an earlier list back on display."""

    def __init__(self, attachment: Attachment, display: DisplayState) -> None:
        self._attachment = attachment
        self._display = display

    @property
    def list(self) -> tuple[Task, ...]:
        """The tasks as the agent last wrote them."""
        return self._attachment.state.tasks

    async def restore(self, tasks: Iterable[Task | Mapping[str, Any]]) -> None:
        """Show these tasks; the agent's own list is not touched and no event is recorded."""
        try:
            shown = tuple(msgspec.convert(task, Task, from_attributes=True) for task in tasks)
        except msgspec.ValidationError as error:
            raise UserError(f"These are no tasks: {error}") from error
        self._display.restore_tasks(shown)
