"""Whether and when a failed request is made again.

The policy is a function of values: the engine asks it, records `model_retried` and waits. Nothing
here retries by itself, so no retry is hidden from the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bridle.ports.model import StreamPart


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how long to wait, in seconds.

    A provider that asks for more patience than `max_wait` is given up at once, so that a fallback
    can take over. What it sent could not be read (`protocol`) is tried `max_unreadable` times only.
    """

    max_retries: int = 4
    max_unreadable: int = 2
    base: float = 0.5
    factor: float = 2.0
    cap: float = 30.0
    max_wait: float = 60.0


DEFAULT_POLICY = RetryPolicy()


def next_delay(
    error: ModelError,
    attempt: int,
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
    jitter: float | None = None,
) -> float | None:
    """Seconds to wait before the request is made again; None when it should not be.

    `attempt` counts the failures so far, from 1. The wait doubles each time and is spread over its
    upper half by `jitter` (0 to 1, drawn when None). It comes on top of what `Retry-After` asked
    for, so that many clients do not come back at the same moment.
    """
    import random

    limit = policy.max_unreadable if error.kind == "protocol" else policy.max_retries
    if not error.retryable or attempt > limit:
        return None
    asked = error.retry_after or 0.0
    if asked > policy.max_wait:
        return None
    spread = random.random() if jitter is None else jitter
    backoff = min(policy.cap, policy.base * policy.factor ** (attempt - 1))
    return asked + backoff * (0.5 + spread / 2)


async def watched(parts: AsyncIterator[StreamPart], *, idle: float) -> AsyncIterator[StreamPart]:
    """Pass a stream on; end it when no part comes for `idle` seconds.

    For models that do not watch their own connection. Raises ModelError(kind="timeout").
    """
    try:
        while True:
            try:
                with anyio.fail_after(idle):
                    part = await anext(parts)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise ModelError(f"The model said nothing for {idle:g} s", kind="timeout") from None
            yield part
    finally:
        aclose = getattr(parts, "aclose", None)
        if aclose is not None:
            await aclose()
