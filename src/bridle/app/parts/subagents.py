"""Which models subagents use in this session's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ConfigError, suggest
from bridle.types.events import SubagentModelChanged

if TYPE_CHECKING:
    from bridle.app.attachment import Attachment


class SessionSubagents:
    """Look at the model of a type of subagent and change it."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    def model_for(self, type: str | None = None) -> str | None:
        """The model that was set for a type, else for all; None when none was set."""
        models = self._attachment.state.subagent_models
        return models.get(type or "") or models.get("")

    async def set_model(self, model: str, type: str | None = None) -> None:
        """Use a model for one type of subagent, or for all."""
        kinds = {kind.id for kind in self._attachment.engine.blueprint.subagents}
        if type is not None and type not in kinds:
            raise ConfigError(suggest(type, kinds, what="subagent type"))
        changed = SubagentModelChanged(model_id=model, agent_type=type, scope="thread")
        await self._attachment.journal.append(self._attachment.thread.id, changed)
