"""The models a user can reach, and the keys for them: what `models` and `connect` do."""

from __future__ import annotations

import os

from bridle.app.models import model_registry
from bridle.app.paths import config_directory
from bridle.models.keys import Keys, check_key
from bridle.models.listing import ModelRow, Tried, available, try_key


def list_models(use_counts: dict[str, int]) -> list[ModelRow]:
    """Every model that is known by name."""
    return available(model_registry(os.environ), use_counts=use_counts)


def store_key(provider: str, key: str) -> str:
    """Keep a key for a provider; returns where it went."""
    model_registry(os.environ).endpoints.facts(provider)
    return str(Keys(config_directory() / "keys").store(provider, check_key(key)))


def forget_key(provider: str) -> bool:
    """Drop the stored key of a provider; False when there was none."""
    return Keys(config_directory() / "keys").forget(provider)


async def try_provider(provider: str, model: str | None) -> Tried:
    """Make one tiny request with the key that is there now."""
    registry = model_registry(os.environ)
    try:
        return await try_key(registry, provider, model)
    finally:
        await registry.aclose()
