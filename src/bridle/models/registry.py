"""From `provider/model` to a model that answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bridle.errors import ConfigError, suggest
from bridle.models import prices
from bridle.models.build import Plan, build
from bridle.models.catalog import LONG_TAIL, PROVIDERS
from bridle.models.endpoints import Endpoint, Endpoints, ProviderConfig
from bridle.types.ledger import FREE, Price

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bridle.models.keys import Keys
    from bridle.ports.model import Model

    Source = Callable[[str], Model]
    """Makes the models of one prefix; it is given what follows the slash."""


class ModelRegistry:
    """Resolves model ids. It reads `env` and never writes it.

    `http` makes the one HTTP client, when the first provider is called. `sources` adds prefixes
    that need no server (`replay`, `embedded`); `scripted` and `local` are here already. `aliases`
    maps names of the user to full ids. The same id gives the same model again.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        providers: Mapping[str, ProviderConfig] | None = None,
        http: Callable[[], Any] | None = None,
        keys: Keys | None = None,
        data_dir: Path | None = None,
        sources: Mapping[str, Source] | None = None,
        aliases: Mapping[str, str] | None = None,
        build: Callable[[Plan], Model] = build,
    ) -> None:
        self.endpoints = Endpoints(env=env, config=dict(providers or {}), keys=keys)
        self.data_dir = data_dir
        self._http = http
        self._client: Any = None
        self._build = build
        self._sources: dict[str, Source] = {
            "scripted": _scripted,
            "local": self._local,
            **{n: partial(_long_tail, n) for n in LONG_TAIL if n not in self.endpoints.config},
            **(sources or {}),
        }
        self._aliases = dict(aliases or {})
        self._made: dict[str, Model] = {}

    def resolve(self, name: str) -> Model:
        """The model of that id or alias.

        Raises `ConfigError` for an unknown provider (with the nearest name), a missing key (with
        its variable and the command that stores it) and an alias that nobody has.
        """
        id = self.full_id(name)
        if id not in self._made:
            prefix, _, model = id.partition("/")
            source = self._sources.get(prefix)
            self._made[id] = source(model) if source else self._from_provider(prefix, model)
        return self._made[id]

    def full_id(self, name: str) -> str:
        """The full id of a model, without making it: `gpt-4o-mini` → `openai/gpt-4o-mini`."""
        name = name.strip()
        name = self._aliases.get(name, name)
        prefix, slash, model = name.partition("/")
        if not slash:
            return self._bare(name)
        if not model:
            raise ConfigError(f"Model {name!r} has no name after the slash; write provider/model.")
        if prefix in self._sources or prefix in self.endpoints.names():
            return name
        if prices.find("openrouter", name) is not None:
            raise ConfigError(
                f"Unknown provider {prefix!r} in {name!r}. Did you mean 'openrouter/{name}'?"
            )
        raise ConfigError(
            suggest(prefix, {*self.endpoints.names(), *self._sources}, what="provider")
            + f" Any OpenAI-compatible server can be one: model_policy.providers.{prefix}.base_url."
        )

    def facts(self, id: str) -> tuple[Price | None, int | None]:
        """Price and context window of a full id; None for what is not known."""
        prefix, _, model = id.partition("/")
        if prefix in self._sources:
            return (
                prices.look_up(LONG_TAIL[prefix][1], model) if prefix in LONG_TAIL else (FREE, None)
            )
        own = self.endpoints.config.get(prefix, ProviderConfig())
        told = own.models.get(model)
        price, window = (None, None)
        if self.endpoints.of(prefix).local:
            price = FREE
        else:
            price, window = prices.look_up(prefix, model)
        if told is not None:
            price = told.price.price() if told.price else price
            window = told.context_window or window
        return price, window

    def forget(self) -> None:
        """Make all models anew from now on, after keys or settings changed."""
        self._made.clear()

    async def aclose(self) -> None:
        """Close the HTTP client, if one was made, and let go the weights of local models."""
        made, self._made = self._made, {}
        for model in made.values():
            close = getattr(model, "close", None)
            if close is not None:
                close()
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _from_provider(self, provider: str, model: str) -> Model:
        endpoint: Endpoint = self.endpoints.of(provider).require()
        price, window = self.facts(f"{provider}/{model}")
        if self._client is None and self._http is not None:
            self._client = self._http()
        return self._build(
            Plan(
                id=f"{provider}/{model}",
                model=model,
                endpoint=endpoint,
                http=self._client,
                price=price,
                context_window=window,
            )
        )

    def _local(self, name: str) -> Model:
        from bridle.models.local import LocalModel
        from bridle.models.weights import find_weights

        return LocalModel(find_weights(name, self.data_dir), id=f"local/{name}")

    def _bare(self, name: str) -> str:
        """The provider that has a model of this name: one with a key first."""
        if not name:
            raise ConfigError("The model's name is empty; write provider/model.")
        if name in self.endpoints.names() or name in self._sources:
            example = PROVIDERS[name].default_model if name in PROVIDERS else None
            raise ConfigError(
                f"{name!r} is a provider; name a model of it: {name}/{example or 'MODEL'}."
            )
        owners = [provider for provider in self.endpoints.names() if self._has(provider, name)]
        if not owners:
            raise ConfigError(self._unknown(name))
        ready = [provider for provider in owners if self.endpoints.of(provider).api_key]
        return f"{(ready or owners)[0]}/{name}"

    def _has(self, provider: str, name: str) -> bool:
        if name in self.endpoints.config.get(provider, ProviderConfig()).models:
            return True
        facts = PROVIDERS.get(provider)
        if facts is None:
            return False
        if facts.bare:
            return name.startswith(facts.bare)
        return any(row.id == name for row in prices.rows(provider))

    def _unknown(self, name: str) -> str:
        from difflib import get_close_matches

        told = f"No provider is known for the model {name!r}; write provider/model."
        if ":" in name and name.partition(":")[0] in self.endpoints.names():
            provider, _, model = name.partition(":")
            return f"{told} Did you mean '{provider}/{model}'?"
        known = {
            row.id: p for p, facts in PROVIDERS.items() if facts.bare for row in prices.rows(p)
        }
        known |= dict.fromkeys(self._aliases, "")
        near = get_close_matches(name, known, n=1)
        if not near:
            return told + f" Providers: {', '.join(self.endpoints.names())}."
        owner = known[near[0]]
        return f"{told} Did you mean '{owner + '/' if owner else ''}{near[0]}'?"


def _long_tail(provider: str, model: str) -> Model:
    from bridle.models.long_tail import make

    return make(provider, model)


def _scripted(file: str) -> Model:
    from bridle.models.script_file import ScriptFile

    return ScriptFile(file, id=f"scripted/{file}")
