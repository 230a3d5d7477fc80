"""What can be used: the models with their facts, and whether each provider's key is there."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Literal

import msgspec

from bridle.errors import ModelError
from bridle.models import prices
from bridle.models.choose import default_of
from bridle.models.endpoints import RESERVED
from bridle.ports.model import ModelRequest, ModelSettings
from bridle.types.ledger import FREE, Price
from bridle.types.messages import user_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from bridle.models.registry import ModelRegistry

    Checker = Callable[[str], bool | Awaitable[bool | None] | None]
    """Says whether a provider may be used; None leaves it to its key."""


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `bridle models`."""

    id: str
    provider: str
    context_window: int | None
    price: Price | None
    key_present: bool
    use_count: int = 0


class AuthRow(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a provider can be called, and why."""

    provider: str
    title: str
    ok: bool
    key_from: str | None
    base_url: str
    hint: str
    problem: str | None = None


_NO_MONEY = (402, 429)
"""The statuses of a good key whose account is empty."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """How a first call with a new key went. With `bad_key` it is the key that was refused."""

    model: str
    ok: bool
    kind: Literal["works", "refused", "unavailable"]
    message: str
    bad_key: bool = False


def available(
    registry: ModelRegistry, *, use_counts: Mapping[str, int] | None = None
) -> list[ModelRow]:
    """Every model that is known by name: most used first, then by provider in catalogue order.

    Servers of the user (ollama, vllm …) know their own models; only those that are written in the
    configuration or have been used are listed for them.
    """
    counts = dict(use_counts or {})
    rows = [row for name in registry.endpoints.names() for row in _rows(registry, name, counts)]
    rows += _pulled(registry, counts)
    return sorted(rows, key=lambda row: -row.use_count)


async def auth_status(
    registry: ModelRegistry, checkers: Checker | Mapping[str, Checker] | None = None
) -> list[AuthRow]:
    """Whether each provider can be called. A checker of the user decides before the key does."""
    rows = []
    for name in registry.endpoints.names():
        endpoint = registry.endpoints.of(name)
        answer = await _checked(checkers, name)
        rows.append(
            AuthRow(
                provider=name,
                title=endpoint.title,
                ok=endpoint.ready if answer is None else answer,
                key_from="checker" if answer else endpoint.key_from,
                base_url=endpoint.base_url,
                hint=f"set {endpoint.key_hint} or run `bridle connect {name}`",
                problem=endpoint.problem,
            )
        )
    return rows


async def keyless_status(
    provider: str, checkers: Checker | Mapping[str, Checker] | None = None
) -> AuthRow | None:
    """The same of a provider that has no server: one that needs no key, or that a checker knows."""
    answer = await _checked(checkers, provider)
    if answer is None and provider not in RESERVED:
        return None
    return AuthRow(
        provider=provider,
        title=provider,
        ok=answer is not False,
        key_from="checker" if answer else None,
        base_url="",
        hint="no key is needed" if answer is None else "the checker of this program decides",
    )


async def _checked(checkers: Checker | Mapping[str, Checker] | None, provider: str) -> bool | None:
    """What the user's checker says of a provider; None leaves it to the key."""
    checker = checkers if callable(checkers) else (checkers or {}).get(provider)
    answer = checker(provider) if checker is not None else None
    return await answer if inspect.isawaitable(answer) else answer


async def try_key(registry: ModelRegistry, provider: str, model: str | None = None) -> Tried:
    """Make one tiny request to a provider; raises `ConfigError` only when none can be made."""
    name = model or default_of(registry, provider)
    if name is None:
        rows = [row for row in available(registry) if row.provider == provider]
        name = rows[0].id.partition("/")[2] if rows else "default"
    id = name if name.startswith(f"{provider}/") else f"{provider}/{name}"
    request = ModelRequest(
        system="",
        messages=(user_message("try", "Say ok."),),
        tools=(),
        settings=ModelSettings(max_output_tokens=16),
    )
    try:
        async for _ in registry.resolve(id).stream(request):
            pass
    except ModelError as error:
        refused = error.kind in ("authentication", "bad_request")
        kind: Literal["refused", "unavailable"] = "refused" if refused else "unavailable"
        bad_key = error.kind == "authentication" and error.status not in _NO_MONEY
        return Tried(model=id, ok=False, kind=kind, message=str(error), bad_key=bad_key)
    return Tried(model=id, ok=True, kind="works", message=f"{id} answers")


def _rows(registry: ModelRegistry, provider: str, counts: dict[str, int]) -> Iterator[ModelRow]:
    """The models written in the configuration, then those of the table."""
    endpoint = registry.endpoints.of(provider)
    own = registry.endpoints.config.get(provider)
    named = list(own.models) if own else []
    facts = {f"{provider}/{name}": registry.facts(f"{provider}/{name}") for name in named}
    for row in prices.listed(provider):
        facts.setdefault(f"{provider}/{row.id}", (row.as_price(), row.window))
    for id in counts:
        if id.startswith(f"{provider}/") and id not in facts:
            facts[id] = registry.facts(id)
    for id, (price, window) in facts.items():
        yield ModelRow(
            id=id,
            provider=provider,
            context_window=window,
            price=price,
            key_present=endpoint.ready,
            use_count=counts.get(id, 0),
        )


def _pulled(registry: ModelRegistry, counts: dict[str, int]) -> list[ModelRow]:
    if registry.data_dir is None:
        return []
    from bridle.models.weights import pulled

    return [
        ModelRow(
            id=f"local/{name}",
            provider="local",
            context_window=None,
            price=FREE,
            key_present=True,
            use_count=counts.get(f"local/{name}", 0),
        )
        for name in pulled(registry.data_dir)
    ]
