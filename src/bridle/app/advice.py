"""What a user can do about a failure."""

from __future__ import annotations

import os

from bridle.app.models import model_registry
from bridle.errors import ConfigError

AGAIN = (
    "Try again later, or name models that take over: model_policy.fallbacks in harness.yaml "
    "(docs: Models)."
)

LIMITS = {
    "budget_exceeded": "The budget is used up: --max-usd, or limits.max_usd and limits.max_tokens "
    "in harness.yaml.",
    "recursion_limit": "A limit of steps or calls was reached: --max-steps, or limits.max_steps "
    "and limits.max_tool_calls in harness.yaml.",
    "timeout": "The time is over: --timeout, or limits.timeout in harness.yaml.",
    "max_tokens": "The answer was cut where the model had to stop: model_policy.max_output_tokens "
    "in harness.yaml.",
    "loop_detected": "The same calls were made again and again. Say what to do instead: "
    "bridle run --continue TASK",
}


def advice(kind: str, model: str | None, *, failed: bool = True) -> str | None:
    """The next thing to try after a failure of this kind, or an end for this reason."""
    if not failed:
        return LIMITS.get(kind)
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
