"""Modes: which agent works, and the model that each of them had last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ConfigError, suggest
from bridle.types.ops import SwitchMode

if TYPE_CHECKING:
    from bridle.app.attachment import Attachment
    from bridle.app.config import Mode


class SessionModes:
    """The modes of the harness, and the thread's present one."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    @property
    def list(self) -> tuple[Mode, ...]:
        """All modes."""
        return self._attachment.engine.blueprint.modes

    @property
    def current(self) -> Mode:
        """The mode that the next run works in."""
        return self._attachment.engine.blueprint.mode(self._attachment.state.mode_id)

    async def switch(self, id: str) -> Mode:
        """Work in another mode; a run in progress ends first, and its model is remembered."""
        known = {mode.id: mode for mode in self.list}
        if id not in known:
            raise ConfigError(suggest(id, known, what="mode"))
        if id != self.current.id:
            model = model_for(self._attachment, known[id])
            previous = self.current.id
            op = SwitchMode(mode_id=id, model_id=model, previous_mode_id=previous)
            await self._attachment.inbox.settle(op)
        return self.current


def model_for(attachment: Attachment, mode: Mode) -> str | None:
    """The model of a mode: chosen for the thread, else the mode's, the agent's, the harness's."""
    chosen = attachment.session_models.get(mode.id) or attachment.state.models.get(mode.id)
    blueprint = attachment.engine.blueprint
    return chosen or mode.model or mode.agent_model or blueprint.models.name
