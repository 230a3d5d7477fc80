"""A model behind a circuit breaker: one that is down is passed over for a while.

Circuits are kept by model, not only by provider, so that a fallback of the same provider is asked.
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
    """Asks the circuit before each request and tells it how the request went."""

    def __init__(self, model: Model, breakers: Breakers, *, name: str) -> None:
        self.id = model.id
        self.price = model.price
        self.context_window = model.context_window
        self._model = model
        self._breakers = breakers
        self._name = name

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request, unless the provider failed too often just now."""
        if not self._breakers.enter(self._name):
            raise ModelError(
                f"{self._name} failed several times in a row and is not asked again for up to "
                f"{COOL_DOWN:.0f} s.",
                kind="unavailable",
                provider=self._name,
                retry_after=math.inf,  # another model, if there is one, takes over at once
            )
        try:
            async with aclosing(self._model.stream(request)) as parts:  # type: ignore[type-var]
                async for part in parts:
                    yield part
        except ModelError as error:
            self._breakers.failed(self._name, error)
            raise
        self._breakers.succeeded(self._name)
