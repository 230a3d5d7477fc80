"""Hosts: which one a URL really means, and whether it is among the allowed ones."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from bridle.types.regex import lazy

_LABELS = lazy(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
_PORT = lazy(r"(\[[^\]]*\]|[^:]*):([0-9]{1,5})")
WEB_PORTS = (None, 80, 443)
"""What a host without a port means."""

_NUMERIC = lazy(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*")


def host_of(url: str) -> str | None:
    """The host of a URL in its one normal writing; None where it is not certain which it is."""
    if any(char.isspace() or not char.isprintable() for char in url) or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return None
    return normal_host(host)


def normal_host(host: str) -> str | None:
    """A host name or address in its one normal writing; None where it is not one."""
    text = host.strip("[]").lower()
    if not text or "%" in text or any(not char.isprintable() for char in text):
        return None
    if ":" in text:
        return _address(text)
    text = text.removesuffix(".")
    if _NUMERIC.fullmatch(text):
        return _address(text)
    try:
        text = text if text.isascii() else text.encode("idna").decode()
    except UnicodeError:
        return None
    return text if _LABELS.fullmatch(text) and len(text) < 254 else None


def _address(text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def authority_of(url: str) -> str | None:
    """The host of a URL, with its port where that is none of the web's; None as for `host_of`."""
    host = host_of(url)
    if host is None:
        return None
    port = urlsplit(url).port
    if port in WEB_PORTS:
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _split(text: str) -> tuple[str, int | None]:
    found = _PORT.fullmatch(text)
    return (found[1], int(found[2])) if found else (text, None)


def host_allowed(host: str, allowed: tuple[str, ...] | None, *, any_port: bool = False) -> bool:
    """Is this host among the allowed ones? `*.a.io` means all below a.io, and not a.io itself.

    An entry with a port means that port, one without the ports of the web, or with `any_port` all.
    """
    known = authority_of(host) if "://" in host else host
    name, port = _split(known or "")
    normal = normal_host(name)
    if normal is None:
        return False
    if allowed is None:
        return True
    return any(_matches(normal, port, entry, any_port=any_port) for entry in allowed)


def _matches(host: str, port: int | None, entry: str, *, any_port: bool) -> bool:
    name, wanted = _split(entry)
    if wanted is not None and port != wanted and not (port is None and wanted in WEB_PORTS):
        return False
    if wanted is None and port not in WEB_PORTS and not any_port:
        return False
    if name == "*":
        return True
    if name.startswith("*."):
        base = normal_host(name[2:])
        return base is not None and host.endswith("." + base)
    return normal_host(name) == host
