"""Hosts: which one a URL really means, and whether it is among the allowed ones."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from bridle.types.regex import lazy

_LABELS = lazy(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
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


def host_allowed(host: str, allowed: tuple[str, ...] | None) -> bool:
    """Is this host among the allowed ones? `*.a.io` means all below a.io, and not a.io itself."""
    normal = host_of(host) if "://" in host else normal_host(host)
    if normal is None:
        return False
    if allowed is None:
        return True
    for entry in allowed:
        if entry == "*":
            return True
        if entry.startswith("*."):
            base = normal_host(entry[2:])
            if base and normal.endswith("." + base):
                return True
        elif normal_host(entry) == normal:
            return True
    return False


def url_allowed(url: str, allowed: tuple[str, ...] | None) -> bool:
    """May this URL be fetched? Ask again for the target of every redirection."""
    return host_of(url) is not None and host_allowed(url, allowed)
