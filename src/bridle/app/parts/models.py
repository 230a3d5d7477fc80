"""The model of the session's present mode, and the models there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.app.parts.modes import model_for
from bridle.errors import ConfigError, suggest
from bridle.models.listing import AuthRow, ModelRow, auth_status, available, keyless_status
from bridle.types.ops import SwitchModel

if TYPE_CHECKING:
    from bridle.app.attachment import Attachment
    from bridle.app.config import Mode


class SessionModels:
    """Look at the model and change it, per mode and per thread."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment

    @property
    def current(self) -> str | None:
        """The full id of the model that the next run uses."""
        return model_for(self._attachment, self._mode())

    @property
    def name(self) -> str | None:
        """The last part of the model's id."""
        current = self.current
        return current.rpartition("/")[2] if current is not None else None

    @property
    def selected(self) -> bool:
        """Whether a model is chosen at all."""
        return self.current is not None

    async def switch(self, id: str, scope: str = "thread", mode: str | None = None) -> None:
        """Use another model for a mode: kept with the thread, or for this session only."""
        if scope not in ("thread", "session"):
            raise ConfigError(suggest(scope, ("thread", "session"), what="scope"))
        blueprint = self._attachment.engine.blueprint
        target = blueprint.mode(mode) if mode is not None else self._mode()
        blueprint.models.check(id)
        if scope == "session":
            self._attachment.session_models[target.id] = id
        else:
            self._attachment.session_models.pop(target.id, None)
        await self._attachment.inbox.settle(
            SwitchModel(model_id=id, mode_id=target.id, scope=scope)
        )

    async def available(self) -> list[ModelRow]:
        """The models that can be used, with price, key and use count."""
        models = self._attachment.engine.blueprint.models
        counts = models.use_counts
        rows = available(models.registry(), use_counts=counts() if callable(counts) else counts)
        if models.auth is None:
            return rows
        allowed = {row.provider: row.ok for row in await self._auth()}
        return [
            msgspec.structs.replace(row, key_present=allowed.get(row.provider, row.key_present))
            for row in rows
        ]

    async def auth_status(self) -> AuthRow:
        """Whether the present model's provider has a key, and where it comes from."""
        current = self.current
        if current is None:
            raise ConfigError("No model is chosen.")
        provider = current.partition("/")[0]
        found = [row for row in await self._auth() if row.provider == provider]
        if found:
            return found[0]
        checker = self._attachment.engine.blueprint.models.auth
        keyless = await keyless_status(provider, checker)
        if keyless is None:
            raise ConfigError(
                f"Nothing is known of the provider {provider!r}; give the harness a model_auth "
                "that knows it."
            )
        return keyless

    async def _auth(self) -> list[AuthRow]:
        models = self._attachment.engine.blueprint.models
        return await auth_status(models.registry(), models.auth)

    def _mode(self) -> Mode:
        return self._attachment.engine.blueprint.mode(self._attachment.state.mode_id)
