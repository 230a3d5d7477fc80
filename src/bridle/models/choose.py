"""Which model a run uses when several places have an opinion, and what to do when none has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from bridle.errors import ConfigError
from bridle.models.catalog import PROVIDERS
from bridle.models.endpoints import RESERVED

if TYPE_CHECKING:
    from bridle.models.registry import ModelRegistry

Because = Literal["flag", "spec", "config", "key", "local"]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The model that was chosen and which place decided it."""

    id: str
    because: Because
    detail: str


def choose(
    registry: ModelRegistry,
    *,
    flag: str | None = None,
    provider: str | None = None,
    spec: str | None = None,
    user: str | None = None,
) -> Choice:
    """Flag → spec primary → user config → first provider with a key → a pulled local model.

    `provider` is the flag that names only a provider, or the provider of `flag`. Raises
    `ConfigError` with the ways to get a model when there is none.
    """
    if provider is not None:
        joined = _joined(registry, provider, flag)
        return Choice(id=joined, because="flag", detail="--provider")
    if flag:
        return Choice(id=registry.full_id(flag), because="flag", detail="--model")
    if spec:
        return Choice(id=registry.full_id(spec), because="spec", detail="model_policy.primary")
    if user:
        return Choice(id=registry.full_id(user), because="config", detail="user config")
    return _by_key(registry) or _local(registry) or _none()


def default_of(registry: ModelRegistry, provider: str) -> str | None:
    """The model of a provider that is taken when only the provider is named."""
    own = registry.endpoints.config.get(provider)
    if own is not None and own.models:
        return next(iter(own.models))
    facts = PROVIDERS.get(provider)
    return facts.default_model if facts else None


def _joined(registry: ModelRegistry, provider: str, model: str | None) -> str:
    if provider in RESERVED:
        return registry.full_id(f"{provider}/{model or ''}")
    facts = registry.endpoints.facts(provider)
    if not model:
        model = default_of(registry, provider)
        if model is None:
            raise ConfigError(f"{facts.title} has no default model; add --model NAME.")
    prefix, slash, rest = model.partition("/")
    if prefix == provider and rest:
        return model
    if slash and facts.bare and prefix in registry.endpoints.names():
        raise ConfigError(f"--provider {provider} and --model {model} name two providers.")
    return f"{provider}/{model}"


def _by_key(registry: ModelRegistry) -> Choice | None:
    for name in registry.endpoints.names():
        endpoint = registry.endpoints.of(name)
        model = default_of(registry, name)
        if endpoint.api_key and model and not endpoint.local:
            return Choice(id=f"{name}/{model}", because="key", detail=f"key in {endpoint.key_from}")
    return None


def _local(registry: ModelRegistry) -> Choice | None:
    if registry.data_dir is None:
        return None
    from bridle.models.weights import pulled

    names = pulled(registry.data_dir)
    if not names:
        return None
    return Choice(id=f"local/{names[0]}", because="local", detail="pulled model, no key needed")


def _none() -> Choice:
    variables = ", ".join(f.key_vars[0] for f in PROVIDERS.values() if f.needs_key)
    raise ConfigError(
        "No model can be chosen. Do one of these:\n"
        f"  set a key: {variables}\n"
        "  store a key: bridle connect anthropic\n"
        "  use a server of yours: --model ollama/NAME (also vllm, lmstudio, any base_url)\n"
        '  a small model with no key: pip install "bridle[local]" && bridle models pull smollm2\n'
        "  play a script: --model scripted/FILE\n"
        "  repair failing Python tests with no model at all: bridle fix"
    )
