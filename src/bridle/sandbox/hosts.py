"""Which hosts may be reached: names brought to one form, then compared as wholes.

Pure functions; what cannot be brought to one form is refused, so that no two programs read the
same text as two different hosts.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Protocol

from bridle.errors import ConfigError
from bridle.types.base import Fixed
from bridle.types.regex import lazy

WEB_PORTS = frozenset({80, 443})
_LABEL = lazy(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_AUTHORITY = lazy(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9_.-]+))(?::([0-9]{1,5}))?")

_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Target(Fixed, frozen=True):
    """A host in its one form (a lower-case name or an address) and a port."""

    host: str
    port: int

    @property
    def address(self) -> Address | None:
        """The address, when the host is one."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def parse_authority(text: str, *, default_port: int) -> Target | None:
    """Read `host`, `host:port` or `[v6]:port`; None for anything else.

    User names, NUL and other control characters, escapes, other alphabets, and numbers that some
    programs take for addresses (`0x7f000001`, `2130706433`, `127.1`, `017700000001`) are refused.
    """
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    literal, name, port = match.groups()
    number = int(port) if port else default_port
    if not 0 < number < 65536:
        return None
    host = _address(literal, 6) if literal else _name(name.lower())
    return Target(host, number) if host else None


def _name(name: str) -> str | None:
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]):
        return _address(name, 4)
    return name


def _address(text: str, version: int) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if address.version != version or getattr(address, "scope_id", None):
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


def is_public(address: Address) -> bool:
    """Whether an address is on the internet, also where it carries another one inside."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


class Pattern(Fixed, frozen=True):
    """One entry of an allow list: a name, `*.name` for what is below it, or an address."""

    host: str
    below: bool
    ports: frozenset[int]

    def matches(self, target: Target) -> bool:
        """Whether it names this host and port."""
        if target.port not in self.ports:
            return False
        if self.below:
            return target.host.endswith("." + self.host)
        return target.host == self.host


class Hosts(Protocol):
    """What may be reached: asked for a name, then for an address that it led to."""

    def permits(self, target: Target) -> bool:
        """Whether a connection to this host may be asked for at all."""
        ...

    def permits_address(self, target: Target, address: Address) -> bool:
        """Whether it may go to this address."""
        ...


class AllowedHosts:
    """An allow list; an entry without a port means the ports of the web."""

    def __init__(self, entries: tuple[str, ...]) -> None:
        self.patterns = tuple(_pattern(entry) for entry in entries)

    def permits(self, target: Target) -> bool:
        """Whether a connection to this host may be asked for at all."""
        return any(pattern.matches(target) for pattern in self.patterns)

    def permits_address(self, target: Target, address: Address) -> bool:
        """Whether the address that a permitted name led to may be connected to.

        Names may not lead to this machine or its network segment (a name server could be the
        attacker's); names under a wildcard may not lead to private networks either.
        """
        address = getattr(address, "ipv4_mapped", None) or address
        exact = any(pattern.matches(target) and not pattern.below for pattern in self.patterns)
        if exact and (target.address is not None or target.host == "localhost"):
            return True
        if address.is_loopback or address.is_link_local or address.is_multicast:
            return False
        if address.is_unspecified or address.is_reserved:
            return False
        return exact or is_public(address)


def _pattern(entry: str) -> Pattern:
    below = entry.startswith("*.")
    target = parse_authority(entry.removeprefix("*."), default_port=443)
    if target is None or (below and target.address is not None):
        raise ConfigError(
            f"Bad entry {entry!r} in allowed_hosts; write a host (`pypi.org`), everything below "
            "one (`*.pypi.org`), or either with a port (`localhost:8080`)."
        )
    has_port = bool(re.search(r":[0-9]+$", entry.rpartition("]")[2]))
    ports = frozenset({target.port}) if has_port else WEB_PORTS
    return Pattern(target.host, below, ports)
