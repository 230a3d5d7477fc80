"""The models of servers that only they know: ollama, vllm, LM Studio and servers of the user's own.

All of them answer `GET /models` in the form of OpenAI's API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.errors import BridleError
from bridle.models.listing import ModelRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.models.endpoints import Endpoint
    from bridle.models.http import HttpClient
    from bridle.models.registry import ModelRegistry

PATIENCE = 2.0
"""Seconds; a server that is not there refuses at once."""
MAX_BYTES = 2_000_000


class _Entry(msgspec.Struct, frozen=True):
    id: str
    max_model_len: int | None = None
    context_length: int | None = None


class _Listing(msgspec.Struct, frozen=True):
    data: list[_Entry]


async def discovered(
    registry: ModelRegistry, http: HttpClient, *, use_counts: Mapping[str, int]
) -> list[ModelRow]:
    """What local servers say that they have; a server that is not up has nothing."""
    found: dict[str, list[ModelRow]] = {}
    names = [name for name in registry.endpoints.names() if registry.endpoints.of(name).local]

    async def ask(name: str) -> None:
        for entry in await _listed(http, registry.endpoints.of(name)):
            id = f"{name}/{entry.id}"
            price, window = registry.facts(id)
            row = ModelRow(
                id=id,
                provider=name,
                context_window=window or entry.max_model_len or entry.context_length,
                price=price,
                key_present=True,
                use_count=use_counts.get(id, 0),
            )
            found.setdefault(name, []).append(row)

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(ask, name)
    return [row for name in names for row in found.get(name, ())]


async def _listed(http: HttpClient, endpoint: Endpoint) -> list[_Entry]:
    headers = [("Accept", "application/json")]
    if endpoint.api_key:
        headers.append(("Authorization", f"Bearer {endpoint.api_key}"))
    try:
        with anyio.fail_after(PATIENCE):
            response = await http.send("GET", f"{endpoint.base_url}/models", headers=headers)
            try:
                body = await response.read(MAX_BYTES)
            finally:
                await response.aclose()
        return msgspec.json.decode(body, type=_Listing).data if response.status == 200 else []
    except (BridleError, TimeoutError, msgspec.MsgspecError):
        return []  # it is not up, or is another kind of server: it has no models for us
