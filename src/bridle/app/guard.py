"""A model behind its provider's circuit breaker: one that is down is passed over for a while."""

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

    def __init__(self, model: Model, breakers: Breakers) -> None:
        self.id = model.id
        self.price = model.price
        self.context_window = model.context_window
        self._model = model
        self._breakers = breakers
        self._provider = model.id.partition("/")[0]

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request, unless the provider failed too often just now."""
        if not self._breakers.enter(self._provider):
            raise ModelError(
                f"{self._provider} failed several times in a row and is not asked again for up to "
                f"{COOL_DOWN:.0f} s.",
                kind="unavailable",
                provider=self._provider,
                retry_after=math.inf,  # another model, if there is one, takes over at once
            )
        try:
            async with aclosing(self._model.stream(request)) as parts:  # type: ignore[type-var]
                async for part in parts:
                    yield part
        except ModelError as error:
            self._breakers.failed(self._provider, error)
            raise
        self._breakers.succeeded(self._provider)
