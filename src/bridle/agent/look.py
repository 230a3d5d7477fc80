"""What a call may know of its own thread: the log, the settings, and what the model is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.context.window import newest
from bridle.ports.tools import Window
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.agent.setup import RunSetup
    from bridle.journal.recorder import ThreadLog
    from bridle.types.events import Event


class Look(Fixed, frozen=True, kw_only=True):
    """Reads through the drain's own handle; nothing is kept."""

    log: ThreadLog
    setup: RunSetup

    async def settings(self) -> dict[str, Any]:
        """The thread's settings."""
        return await self.log.journal.store.settings(self.log.state.id)

    async def events(self) -> Sequence[Event]:
        """The thread's log."""
        return await self.log.journal.store.events(self.log.state.id)

    def window(self) -> Window:
        """What the model is shown."""
        head = self.setup.head
        return Window(
            model_id=self.setup.model_id,
            system=head.system,
            tools=head.tools,
            messages=newest(self.log.state.messages, head.history),
            count=self.setup.count,
            context_window=self.setup.model.context_window,
        )
