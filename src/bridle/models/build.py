"""The classes that speak to providers, made from an endpoint: one function per wire.

The classes are imported when a model of their wire is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, assert_never

from bridle.types.base import Fixed

if TYPE_CHECKING:
    from bridle.models.endpoints import Endpoint
    from bridle.ports.model import Model
    from bridle.types.ledger import Price


class Plan(Fixed, frozen=True, kw_only=True):
    """What a provider's class is made from. `http` is the client that all providers share."""

    id: str
    model: str
    endpoint: Endpoint
    http: Any
    price: Price | None
    context_window: int | None


def build(plan: Plan) -> Model:
    """Make the model for the endpoint's wire."""
    match plan.endpoint.wire:
        case "chat":
            return _chat(plan)
        case "responses":
            return _responses(plan)
        case "anthropic":
            return _anthropic(plan)
        case "gemini":
            return _gemini(plan)
        case other:
            assert_never(other)


def _chat(plan: Plan) -> Model:
    model: Model = _load("openai_chat", "OpenAIChat")(**_arguments(plan))
    return model


def _responses(plan: Plan) -> Model:
    model: Model = _load("openai_responses", "OpenAIResponses")(**_arguments(plan))
    return model


def _anthropic(plan: Plan) -> Model:
    model: Model = _load("anthropic", "Anthropic")(**_arguments(plan))
    return model


def _gemini(plan: Plan) -> Model:
    model: Model = _load("gemini", "Gemini")(**_arguments(plan))
    return model


def _arguments(plan: Plan) -> dict[str, Any]:
    return {
        "model": plan.model,
        "provider": plan.endpoint.provider,
        "base_url": plan.endpoint.base_url,
        "api_key": plan.endpoint.api_key,
        "http": plan.http,
        "price": plan.price,
        "context_window": plan.context_window,
        "headers": plan.endpoint.headers,
    }


def _load(module: str, name: str) -> Any:
    return getattr(import_module(f"bridle.models.providers.{module}"), name)
