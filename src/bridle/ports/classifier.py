"""Somebody who says how risky a call is, where the rules would only ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bridle.types.base import Fact, Fixed
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.types.permissions import Classified


class Proposal(Fact, frozen=True, kw_only=True):
    """A call that would be asked for; `reason` is why. Secrets are names in it."""

    tool: str
    args: dict[str, Any]
    category: str
    command: str | None = None
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    reason: str | None = None


class Opinion(Fixed, frozen=True, kw_only=True):
    """What was said of a call, and what it took to find out."""

    classified: Classified
    usage: Usage = msgspec.field(default_factory=Usage)
    cost_usd: float = 0.0


class Classifier(Protocol):
    """Says what it thinks of a call; whatever it raises means that it has no opinion.

    `room` is how many tokens one question may take at most.
    """

    @property
    def room(self) -> int:
        """How many tokens one question may take at most."""
        ...

    async def opinion(self, proposal: Proposal) -> Opinion:
        """Look at one call."""
        ...
