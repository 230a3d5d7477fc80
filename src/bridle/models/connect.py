"""`bridle connect PROVIDER`: keep a key, try it, and keep the old one if the new one is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.errors import ConfigError
from bridle.models.keys import Place, check_key
from bridle.models.listing import Tried, try_key

if TYPE_CHECKING:
    from bridle.models.registry import ModelRegistry


class Connected(msgspec.Struct, frozen=True, kw_only=True):
    """How it went; without a `place` the provider refused the key and it was not kept.

    `shadowed_by` is a variable that is set and wins over the stored key.
    """

    provider: str
    place: Place | None
    tried: Tried | None
    shadowed_by: str | None = None


async def connect(
    registry: ModelRegistry, provider: str, key: str, *, model: str | None = None
) -> Connected:
    """Store a provider's key and make one tiny request with it.

    A key that the provider refuses is not kept: what was stored before is put back, and the
    message tells the provider's words. A provider that cannot be reached keeps the key.
    """
    keys = registry.endpoints.keys
    if keys is None:
        raise ConfigError("There is no place to store keys in.")
    facts = registry.endpoints.facts(provider)
    key = check_key(key)
    before = keys.load(provider) if provider in keys.names() else None
    place = keys.store(provider, key)
    registry.forget()
    endpoint = registry.endpoints.of(provider)
    if endpoint.api_key != key:
        return Connected(provider=provider, place=place, tried=None, shadowed_by=endpoint.key_from)
    tried = await try_key(registry, provider, model)
    if tried.bad_key:
        if before is None:
            keys.forget(provider)
        else:
            keys.store(provider, before.key)
        registry.forget()
        told = f"{facts.title} refused the key; it was not kept: {tried.message}"
        tried = msgspec.structs.replace(tried, message=told)
        return Connected(provider=provider, place=None, tried=tried)
    return Connected(provider=provider, place=place, tried=tried)
