"""The models a user can reach, and the keys for them: what `models` and `connect` do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridle.app.models import model_registry
from bridle.app.paths import config_directory, data_directory
from bridle.models.catalog import PROVIDERS
from bridle.models.connect import Connected, connect
from bridle.models.keys import Keys, check_key
from bridle.models.listing import ModelRow, available
from bridle.models.pull import SOURCES, Progress, pull

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


async def list_models(use_counts: dict[str, int]) -> list[ModelRow]:
    """Every model that is known by name, and what the servers on this machine have now."""
    from bridle.models.discovery import discovered
    from bridle.models.http import HttpClient

    registry = model_registry(os.environ)
    rows = available(registry, use_counts=use_counts)
    async with HttpClient(environ=os.environ) as http:
        found = await discovered(registry, http, use_counts=use_counts)
    known = {row.id for row in rows}
    return sorted(
        [*rows, *(row for row in found if row.id not in known)], key=lambda row: -row.use_count
    )


def check_provider(provider: str) -> None:
    """Raise `ConfigError` with the nearest name when there is no such provider."""
    model_registry(os.environ).endpoints.facts(provider)


def store_key(provider: str, key: str) -> str:
    """Keep a key for a provider without trying it; returns where it went."""
    check_provider(provider)
    return str(Keys(config_directory() / "keys").store(provider, check_key(key)))


def forget_key(provider: str) -> bool:
    """Drop the stored key of a provider; False when there was none."""
    return Keys(config_directory() / "keys").forget(provider)


def key_page(provider: str) -> str | None:
    """Where a provider hands out keys, where it is known."""
    known = PROVIDERS.get(provider)
    return None if known is None else known.key_page


async def connect_provider(provider: str, key: str, model: str | None) -> Connected:
    """Keep a key and make one tiny request with it; one that is refused is not kept."""
    registry = model_registry(os.environ)
    try:
        return await connect(registry, provider, key, model=model)
    finally:
        await registry.aclose()


def pull_model(name: str, progress: Callable[[Progress], None]) -> Path:
    """Fetch a local model's weights."""
    return pull(name, data_directory(), progress=progress)


def describe_model(name: str) -> str:
    """What a local model can and cannot do."""
    return SOURCES[name].told if name in SOURCES else ""
