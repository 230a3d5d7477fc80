"""Where a provider is reached and with which key: its facts, the user's settings, its variables.

The environment is a mapping that is passed in and only read. An endpoint is made from one
provider's settings alone, so nothing of one provider can reach another's calls.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from bridle.errors import ConfigError, suggest
from bridle.models.catalog import PROVIDERS, Provider, Wire
from bridle.models.prices import PerMillion
from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.models.keys import Keys

RESERVED = ("embedded", "local", "replay", "scripted")
"""Prefixes of model ids that need no server."""

NAME = lazy(r"[a-z0-9][a-z0-9_-]*")


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user knows of one model better than the table."""

    context_window: int | None = None
    price: PerMillion | None = None


class ProviderConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of `model_policy.providers`. A name of your own with a `base_url` is a provider."""

    base_url: str | None = None
    wire: Wire | None = None
    api_key: str | None = None
    api_key_env: str | None = None
    headers: dict[str, str] = {}
    local: bool | None = None
    models: dict[str, ModelConfig] = {}

    def __repr__(self) -> str:
        return f"ProviderConfig(base_url={self.base_url!r}, wire={self.wire!r})"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One provider, ready to be called. Its representation holds no secret."""

    provider: str
    title: str
    wire: Wire
    base_url: str
    api_key: str | None
    key_from: str | None
    key_needed: bool
    key_hint: str
    headers: dict[str, str]
    local: bool
    problem: str | None = None

    def __repr__(self) -> str:
        key = f"from {self.key_from}" if self.api_key else "none"
        return f"Endpoint({self.provider}, {self.base_url}, wire={self.wire}, key={key})"

    @property
    def ready(self) -> bool:
        """Whether a call can be tried: it has its key or needs none."""
        return self.api_key is not None or not self.key_needed

    def require(self) -> Endpoint:
        """This endpoint, or `ConfigError` that tells how to give it a key."""
        if self.problem is not None and self.api_key is None:
            raise ConfigError(self.problem)
        if not self.ready:
            raise ConfigError(
                f"{self.title} needs a key: set {self.key_hint} "
                f"or run `bridle connect {self.provider}`."
            )
        return self


def check_provider(name: str, config: ProviderConfig) -> None:
    """Refuse an entry of `model_policy.providers` that no model could be reached by."""
    where = f"model_policy.providers.{name}"
    if not NAME.fullmatch(name):
        raise ConfigError(f"{where}: a provider's name is lower case letters, digits, - and _.")
    if name in RESERVED:
        raise ConfigError(f"{where}: {name!r} is not a server; choose another name.")
    if name not in PROVIDERS and config.base_url is None:
        names = suggest(name, PROVIDERS, what="provider")
        raise ConfigError(f"{where}: a provider of your own needs a base_url. {names}")


class Endpoints(Fixed, frozen=True, kw_only=True):
    """Resolves providers by name. `env` is read, never written."""

    env: Mapping[str, str]
    config: Mapping[str, ProviderConfig] = msgspec.field(default_factory=dict)
    keys: Keys | None = None

    def __repr__(self) -> str:
        return f"Endpoints({', '.join(self.config)})"

    def names(self) -> list[str]:
        """All providers: the known ones in order, then the user's own."""
        return [*PROVIDERS, *(name for name in self.config if name not in PROVIDERS)]

    def facts(self, name: str) -> Provider:
        """What is known of a provider; `ConfigError` for an unknown one."""
        if name in PROVIDERS:
            return PROVIDERS[name]
        own = self.config.get(name)
        if own is None or own.base_url is None:
            raise ConfigError(
                suggest(name, self.names(), what="provider")
                + " Any OpenAI-compatible server can be one: "
                f"model_policy.providers.{name}.base_url."
            )
        variable = re.sub(r"\W", "_", name).upper() + "_API_KEY"
        return Provider(
            name=name,
            title=name,
            wire="chat",
            base_url=own.base_url,
            key_vars=(variable,),
            needs_key=False,
        )

    def of(self, name: str) -> Endpoint:
        """The endpoint of a provider, with or without its key; `ConfigError` if it is unknown."""
        facts = self.facts(name)
        own = self.config.get(name, ProviderConfig())
        base_url = self._address(facts, own)
        official = host_of(base_url) == host_of(facts.base_url)
        problem = None
        try:
            api_key, key_from = self._key(facts, own)
        except ConfigError as error:
            api_key, key_from, problem = None, None, str(error)
        return Endpoint(
            provider=name,
            title=facts.title,
            wire=own.wire or (facts.wire if official or facts.wire != "responses" else "chat"),
            base_url=base_url,
            api_key=api_key,
            key_from=key_from,
            key_needed=bool(own.api_key_env) or (facts.needs_key and official),
            key_hint=own.api_key_env or " or ".join(facts.key_vars),
            headers=self._headers(facts, own),
            local=facts.local if own.local is None else own.local,
            problem=problem,
        )

    def _address(self, facts: Provider, own: ProviderConfig) -> str:
        for variable in facts.url_vars:
            if value := self.env.get(variable, "").strip():
                if variable == "OLLAMA_HOST":
                    value = _ollama_address(value)
                elif facts.wire == "gemini" and not urlsplit(value).path.strip("/"):
                    value = value.rstrip("/") + "/v1beta"  # Google's SDKs leave the version out
                return check_url(value, variable)
        if own.base_url:
            return check_url(own.base_url, f"model_policy.providers.{facts.name}.base_url")
        return facts.base_url

    def _key(self, facts: Provider, own: ProviderConfig) -> tuple[str | None, str | None]:
        variables = (own.api_key_env,) if own.api_key_env else facts.key_vars
        for variable in variables:
            if value := self.env.get(variable, "").strip():
                return value, variable
        if own.api_key:
            return own.api_key, "config"
        if self.keys is not None and (stored := self.keys.load(facts.name)):
            return stored.key, stored.place
        return None, None

    def _headers(self, facts: Provider, own: ProviderConfig) -> dict[str, str]:
        from_env = {
            header: value
            for header, variable in facts.header_vars.items()
            if (value := self.env.get(variable, "").strip())
        }
        return from_env | own.headers


def host_of(url: str) -> str:
    """The host and port of an address, as one compares them."""
    return urlsplit(url).netloc.lower()


def check_url(url: str, where: str) -> str:
    """A base URL without its last slash; `ConfigError` says where a bad one was set."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{where} is not a base URL: {url!r}. Write http(s)://host[:port]/path.")
    return url.rstrip("/")


def _ollama_address(value: str) -> str:
    """OLLAMA_HOST is the server's own variable: a host, with or without port and scheme."""
    url = value if "://" in value else f"http://{value}"
    if urlsplit(url).port is None and "://" not in value:
        url += ":11434"
    url = url.replace("//0.0.0.0", "//127.0.0.1").rstrip("/")
    return url if url.endswith("/v1") else url + "/v1"
