"""What a user can do about a failure."""

from __future__ import annotations

import os

from bridle.app.models import model_registry
from bridle.errors import ConfigError

AGAIN = (
    "Try again later, or name models that take over: model_policy.fallbacks in harness.yaml "
    "(docs: Models)."
)


def advice(kind: str, model: str | None) -> str | None:
    """The next thing to try after a failure of this kind, if there is one."""
    if kind in ("unavailable", "rate_limit", "timeout", "cut", "protocol"):
        return AGAIN
    provider, slash, _ = (model or "").partition("/")
    if kind != "authentication" or not slash:
        return None
    try:
        endpoint = model_registry(os.environ).endpoints.of(provider)
    except ConfigError:  # a model of the caller's own
        return None
    where = f" (it came from {endpoint.key_from})" if endpoint.key_from else ""
    return f"Check the key{where}: set {endpoint.key_hint} or run: bridle connect {provider}"
