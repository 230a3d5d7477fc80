"""Which proxy a URL goes through, by the usual variables; pure, the environment is a parameter."""

from __future__ import annotations

import base64
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from bridle.errors import ConfigError
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(Fixed, frozen=True, kw_only=True):
    """Where a connection ends: scheme, host and port. Connections are reused by origin."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """`host:port`, with an IPv6 address in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def host_header(self) -> str:
        """The `Host` header: the port is left out when it is the scheme's own."""
        if self.port == DEFAULT_PORTS[self.scheme]:
            return self.authority.rpartition(":")[0]
        return self.authority


class Proxy(Fixed, frozen=True, kw_only=True):
    """A proxy and the credentials for it; its text form never shows them."""

    origin: Origin
    authorization: str | None = None

    def __repr__(self) -> str:
        return f"Proxy({self.origin.scheme}://{self.origin.authority})"


def split_url(url: str) -> tuple[Origin, str]:
    """Split an http(s) URL into its origin and its target (path and query).

    Raises ConfigError when it is not one.
    """
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or port == -1:
        raise ConfigError(f"{public_url(url)!r} is not an http:// or https:// URL")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.hostname
    return Origin(scheme=parts.scheme, host=host, port=port or DEFAULT_PORTS[parts.scheme]), target


def proxy_for(origin: Origin, environ: Mapping[str, str]) -> Proxy | None:
    """Choose the proxy for an origin, or None when it is reached directly.

    Lower-case variables win over upper-case ones, as in curl.
    """
    url = _variable(environ, f"{origin.scheme}_proxy") or _variable(environ, "all_proxy")
    if not url or _bypassed(origin, _variable(environ, "no_proxy")):
        return None
    if "://" not in url:
        url = f"http://{url}"
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS:
        raise ConfigError(
            f"The proxy {public_url(url)!r} is not supported; use an http:// or https:// proxy"
        )
    proxy_origin, _ = split_url(url)
    authorization = None
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(user.encode()).decode()}"
    return Proxy(origin=proxy_origin, authorization=authorization)


def _variable(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _bypassed(origin: Origin, no_proxy: str) -> bool:
    return any(_matches(origin, entry.strip().lower()) for entry in no_proxy.split(","))


def _matches(origin: Origin, entry: str) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(origin.host, entry)
    host, port = _split_port(entry)
    if port is not None and port != origin.port:
        return False
    host = host.removeprefix("*").removeprefix(".")
    own = origin.host.lower()
    return own == host or own.endswith(f".{host}")


def _split_port(entry: str) -> tuple[str, int | None]:
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        return host, int(rest[1:]) if rest[1:].isdigit() else None
    host, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and ":" not in host:
        return host, int(port)
    return entry, None


def _in_network(host: str, entry: str) -> bool:
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        return False


def public_url(url: str) -> str:
    """A URL as it may be shown: without the user, the password and the query."""
    scheme, mark, rest = url.partition("?")[0].rpartition("://")
    return scheme + mark + rest.rpartition("@")[2]
