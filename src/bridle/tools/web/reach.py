"""Which hosts a tool may reach: asked by name for every hop, and by address when it connects.

A name is resolved once, its addresses are checked, and the connection goes to one that passed: a
name server that answers differently a moment later (DNS rebinding) changes nothing.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import anyio

from bridle.errors import ToolError
from bridle.permissions.evaluate import evaluate
from bridle.permissions.hosts import authority_of, host_allowed
from bridle.permissions.within import child_policy
from bridle.sandbox.hosts import AllowedHosts, Target, is_public, parse_authority
from bridle.sandbox.proxy import Resolve, resolve_name
from bridle.types.base import Fixed
from bridle.types.tools import CallFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import ByteStream

    from bridle.sandbox.hosts import Address
    from bridle.types.permissions import Policy


class Reach(Fixed, frozen=True, kw_only=True):
    """The host policy of the tools that reach the network.

    `policy` is the one that the gate asks. `allowed` are the hosts that somebody named: only they
    may lead to this machine or to a private network.
    """

    policy: Policy
    allowed: tuple[str, ...] = ()
    resolve: Resolve = resolve_name

    def permits(self, tool: str, host: str, *, depth: int = 0) -> bool:
        """Whether the rules alone, without anybody asked, let a tool reach a host."""
        policy = self.policy
        for _ in range(depth - policy.depth):
            policy = child_policy(policy, policy)
        facts = CallFacts(category="read", read_only=True, hosts=(host,), args={})
        listed = not self.allowed or host_allowed(host, self.allowed)
        return listed and evaluate(tool, facts, policy).effect in ("allow", "notify")

    def permits_address(self, target: Target, address: Address) -> bool:
        """Whether a connection for this host may go to this address."""
        named = AllowedHosts(tuple(entry for entry in self.allowed if entry != "*"))
        if named.permits(target):
            return named.permits_address(target, address)
        return is_public(address)

    def check_literal(self, host: str, port: int) -> None:
        """Refuse an address written as such, also where a proxy would connect to it for us."""
        target = parse_authority(f"[{host}]" if ":" in host else host, default_port=port)
        if target is None:
            raise ToolError(f"{host!r} is not the name of a host.", kind="invalid_url")
        local = target.host == "localhost" or target.host.endswith(".localhost")
        address = ipaddress.IPv4Address("127.0.0.1") if local else target.address
        if address is not None and not self.permits_address(target, address):
            raise _refused(host, port, [address])

    async def connect(self, host: str, port: int) -> ByteStream:
        """Connect to an address of the host that was checked; `ToolError` where none may be."""
        target = parse_authority(f"[{host}]" if ":" in host else host, default_port=port)
        if target is None:
            raise ToolError(f"{host!r} is not the name of a host.", kind="invalid_url")
        found = [ipaddress.ip_address(text) for text in await self.resolve(target.host, port)]
        checked = [address for address in found if self.permits_address(target, address)]
        if not checked:
            raise _refused(host, port, found)
        failed: OSError | None = None
        for address in checked:
            try:
                return await anyio.connect_tcp(str(address), port)
            except OSError as error:
                failed = error
        assert failed is not None
        raise failed


def _refused(host: str, port: int, found: Sequence[Address]) -> ToolError:
    return ToolError(
        f"{host} was not reached: {', '.join(map(str, found)) or 'no address'} is not on the "
        "public internet.",
        hint=f"Only a host that is named in allowed_hosts, such as {host}:{port}, may be on this "
        "machine or in a private network. Ask the user to add it if it is meant.",
        kind="address_refused",
    )


def checked_authority(url: str) -> str:
    """The host (and port) that a URL names; raises `ValueError` where it is not certain."""
    authority = authority_of(url)
    if authority is None:
        raise ValueError(
            f"{url[:200]!r} is not an http:// or https:// URL with a plain host name and without "
            "a user name"
        )
    return authority
