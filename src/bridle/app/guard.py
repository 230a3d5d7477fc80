"""A model behind circuit breakers: what is down is passed over for a while.

A provider that cannot be reached is passed over with all its models. One that answers, if only to
refuse, may refuse one model and serve another, so that a fallback of the same provider is asked.
"""

from __future__ import annotations

import math
from contextlib import aclosing
from typing import TYPE_CHECKING

from bridle.errors import ModelError
from bridle.models.breaker import COOL_DOWN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bridle.models.breaker import Breakers
    from bridle.ports.model import Model, ModelRequest, StreamPart


class GuardedModel:
    """Asks the circuits before each request and tells them how it went.

    `context_window` is what the user says of it, where the model's own is not to be used.
    """

    def __init__(
        self, model: Model, breakers: Breakers, *, name: str, context_window: int | None = None
    ) -> None:
        self.id = model.id
        self.price = model.price
        self.context_window = context_window or model.context_window
        self._model = model
        self._breakers = breakers
        self._name = name
        self._provider = f"{name.partition('/')[0]}/"

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request, unless the model or its provider failed too often just now."""
        breakers = self._breakers
        shut = breakers.enter(self._provider, self._name)
        if shut is not None:
            raise ModelError(
                f"{shut.rstrip('/')} failed several times in a row and is not asked again for up "
                f"to {COOL_DOWN:.0f} s.",
                kind="unavailable",
                provider=self._name,
                retry_after=math.inf,  # another model, if there is one, takes over at once
            )
        heard = False
        try:
            async with aclosing(self._model.stream(request)) as parts:  # type: ignore[type-var]
                async for part in parts:
                    heard = True
                    yield part
        except ModelError as error:
            if heard or _answered(error):
                breakers.succeeded(self._provider)
            else:
                breakers.failed(self._provider, error)
            breakers.failed(self._name, error)
            raise
        breakers.succeeded(self._provider)
        breakers.succeeded(self._name)


def _answered(error: ModelError) -> bool:
    """Whether there was an answer, of whatever kind."""
    return error.status is not None or error.kind not in ("unavailable", "timeout")
