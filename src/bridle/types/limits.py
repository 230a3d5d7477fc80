"""The bounds of a run."""

from typing import TypeVar

import msgspec

N = TypeVar("N", int, float)

DEFAULT_MAX_STEPS = 1000
SUBAGENT_MAX_STEPS = 50
DEFAULT_MAX_DEPTH = 3
MIN_OUTPUT_TOKENS = 1024
"""Below this much room for an answer a request is not worth making."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may use; None means no limit. `timeout` is in seconds and excludes parked time.

    `max_usd` and `max_tokens` hold for the run and everything it starts, together.
    """

    max_steps: int = DEFAULT_MAX_STEPS
    max_usd: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    max_tool_calls: int | None = None
    max_depth: int = DEFAULT_MAX_DEPTH
    max_parallel: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"limits.{name} must not be negative, got {value}")

    def within(self, other: "Limits") -> "Limits":
        """Combine two limits: the smaller of each."""
        return Limits(
            max_steps=min(self.max_steps, other.max_steps),
            max_usd=_smaller(self.max_usd, other.max_usd),
            max_tokens=_smaller(self.max_tokens, other.max_tokens),
            timeout=_smaller(self.timeout, other.timeout),
            max_tool_calls=_smaller(self.max_tool_calls, other.max_tool_calls),
            max_depth=min(self.max_depth, other.max_depth),
            max_parallel=_smaller(self.max_parallel, other.max_parallel),
        )


def _smaller(a: N | None, b: N | None) -> N | None:
    if a is None:
        return b
    return a if b is None else min(a, b)
