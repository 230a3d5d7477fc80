"""Which hosts the pages of one browser may reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridle.sandbox.hosts import Address, Target
    from bridle.tools.web.reach import Reach

WEB_PORTS = (80, 443)
TOOL = "navigate"


class PageHosts:
    """Those that the gate let a call name, and those that the rules allow without asking.

    What was refused is kept until somebody tells it.
    """

    def __init__(self, reach: Reach, *, depth: int) -> None:
        self._reach = reach
        self._depth = depth
        self._approved: set[str] = set()
        self._known: dict[str, bool] = {}
        self._refused: dict[str, str] = {}

    def approve(self, authority: str) -> None:
        """A call was let through to this host."""
        self._approved.add(authority)

    def permits(self, target: Target) -> bool:
        """Whether a page may connect to a host."""
        name = authority(target)
        if name in self._approved:
            return True
        if name not in self._known:
            self._known[name] = self._reach.permits(TOOL, name, depth=self._depth)
        if not self._known[name]:
            self._refused[name] = name
        return self._known[name]

    def permits_address(self, target: Target, address: Address) -> bool:
        """Whether the connection may go to an address."""
        permitted = self._reach.permits_address(target, address)
        if not permitted:
            self._refused[authority(target)] = f"{authority(target)} (at {address})"
        return permitted

    def refused(self, asked: set[str]) -> tuple[str, ...]:
        """What was refused of what a page asked for, since this was asked last."""
        found, self._refused = self._refused, {}
        return tuple(told for name, told in found.items() if name in asked)


def authority(target: Target) -> str:
    """A host as the gate writes it."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    if target.port in WEB_PORTS:
        return target.host
    return f"{host}:{target.port}"
