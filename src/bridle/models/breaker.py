"""Circuit breakers, one per provider and one per model: stop asking what is down, then try it
with one request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.errors import ModelError

CircuitState = Literal["closed", "open", "half_open"]

FAILURES_TO_OPEN = 5
COOL_DOWN = 30.0
_COUNTED = frozenset({"unavailable", "timeout", "cut", "protocol", "rate_limit"})


class Circuit(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the health of a provider or a model; every change gives a new value.

    Failures in a row open it. After the cool-down, or when the user asks again, one request may
    try: its success closes the circuit, its failure opens it anew.
    """

    failures: int = 0
    opened_at: float | None = None
    trying_since: float | None = None

    def state(self, now: float) -> CircuitState:
        """Closed (ask), open (do not), or half open (one may try)."""
        if self.opened_at is None:
            return "closed"
        return "half_open" if now - self.opened_at >= COOL_DOWN else "open"

    def allows(self, now: float) -> bool:
        """Whether a request may be made. A try that never reported back blocks no longer than the
        cool-down.
        """
        match self.state(now):
            case "closed":
                return True
            case "open":
                return False
            case "half_open":
                return self.trying_since is None or now - self.trying_since >= COOL_DOWN

    def started(self, now: float) -> Circuit:
        """A request is being made."""
        if self.state(now) == "half_open":
            return msgspec.structs.replace(self, trying_since=now)
        return self

    def succeeded(self) -> Circuit:
        """A request was answered."""
        return Circuit()

    def failed(self, error: ModelError, now: float) -> Circuit:
        """A request failed; errors of the request itself say nothing of the provider."""
        if error.kind not in _COUNTED:
            return msgspec.structs.replace(self, trying_since=None)
        failures = self.failures + 1
        opens = failures >= FAILURES_TO_OPEN or self.opened_at is not None
        return Circuit(failures=failures, opened_at=now if opens else None)

    def nudged(self, now: float) -> Circuit:
        """The user asks again: an open circuit may be tried at once."""
        if self.opened_at is None:
            return self
        return msgspec.structs.replace(self, opened_at=now - COOL_DOWN, trying_since=None)


class Breakers:
    """The circuits of providers and models, by name, with the clock they are read by."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._circuits: dict[str, Circuit] = {}

    def state(self, name: str) -> CircuitState:
        """How one stands."""
        return self._get(name).state(self._now())

    def enter(self, *names: str) -> str | None:
        """Ask to make a request that all these circuits must allow; the first that does not."""
        now = self._now()
        for name in names:
            if not self._get(name).allows(now):
                return name
        for name in names:
            self._circuits[name] = self._get(name).started(now)
        return None

    def succeeded(self, name: str) -> None:
        """Report an answer."""
        self._circuits[name] = self._get(name).succeeded()

    def failed(self, name: str, error: ModelError) -> None:
        """Report a failure."""
        self._circuits[name] = self._get(name).failed(error, self._now())

    def user_turn(self) -> None:
        """The user sent something: every open circuit may be tried."""
        now = self._now()
        self._circuits = {name: c.nudged(now) for name, c in self._circuits.items()}

    def _get(self, name: str) -> Circuit:
        return self._circuits.get(name, Circuit())
