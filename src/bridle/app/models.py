"""Which model a command uses, and how its id becomes a model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridle.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.ports.model import Model


def choose_model(*, flag: str | None, spec: str | None, environ: Mapping[str, str]) -> str:
    """The model by flag, by spec, or by the first provider with a key; else say how to get one."""
    chosen = flag or spec
    if chosen is not None:
        return chosen
    if environ.get("OPENAI_API_KEY"):
        return "openai/gpt-4o-mini"
    raise ConfigError(
        "No model can be chosen. Set a key (OPENAI_API_KEY), name a model with --model "
        "provider/name or model_policy.primary in harness.yaml, or use --model scripted/FILE."
    )


def resolve_model(model_id: str, environ: Mapping[str, str] = os.environ) -> Model:
    """Build the model that an id names."""
    provider, separator, name = model_id.partition("/")
    if not separator or not name:
        raise ConfigError(f"{model_id!r} is not a model id; write provider/model.")
    if provider == "scripted":
        from bridle.models.script_file import ScriptFile

        return ScriptFile(name)
    if provider == "openai":
        from bridle.models.http import HttpClient
        from bridle.models.providers.openai_chat import OPENAI_URL, OpenAIChat

        return OpenAIChat(
            name,
            http=HttpClient(environ=environ),
            base_url=environ.get("OPENAI_BASE_URL") or OPENAI_URL,
            api_key=environ.get("OPENAI_API_KEY"),
        )
    raise ConfigError(f"Unknown provider {provider!r} in {model_id!r}; have openai, scripted.")
