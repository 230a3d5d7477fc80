"""Fetch one URL: every hop checked, the body bounded in size and time, decoded as it was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import anyio

from bridle.errors import ConfigError, ModelError, ToolError
from bridle.models.http import HttpClient, Timeouts
from bridle.models.proxies import split_url
from bridle.permissions.hosts import authority_of, host_of
from bridle.tools.web.unpack import unpacker
from bridle.types.base import Fact, Fixed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridle.models.http import HttpResponse
    from bridle.tools.web.reach import Reach

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_HOPS = 5
LONGEST_URL = 8000
_SAFE = "%/:=&?~#+!$,;'@()*[]|"


class Fetched(Fact, frozen=True, kw_only=True):
    """What came back in the end; `cut` is set when the body is longer than what was read."""

    url: str
    status: int
    content_type: str
    body: bytes
    cut: bool = False


class Limits(Fixed, frozen=True, kw_only=True):
    """How much is read, and how long it may take from the first name to the last byte."""

    seconds: float
    body: int


class Fetcher(Fixed, frozen=True, kw_only=True):
    """Fetches for one tool; the environment names proxies and certificates."""

    tool: str
    reach: Reach
    environ: Mapping[str, str]

    async def get(
        self,
        url: str,
        *,
        limits: Limits,
        depth: int = 0,
        headers: Sequence[tuple[str, str]] = (),
        follow: bool = True,
    ) -> Fetched:
        """Fetch a URL whose host the gate has let through; raises `ToolError` with what to do."""
        timeouts = Timeouts(connect=10.0, idle=min(20.0, limits.seconds), total=limits.seconds)
        try:
            with anyio.fail_after(limits.seconds):
                async with HttpClient(
                    environ=self.environ, timeouts=timeouts, connect=self._connect
                ) as client:
                    return await self._hops(
                        client, url, limits, depth=depth, headers=headers, follow=follow
                    )
        except TimeoutError:
            raise ToolError(
                f"{_host(url)} did not finish within {limits.seconds:g} s.",
                hint="Try again, or give it more time.",
                kind="timeout",
            ) from None
        except ModelError as error:
            raise ToolError(f"{error}.", hint=_hint(error.kind), kind=error.kind) from None
        except ConfigError as error:
            raise ToolError(f"{error}.", kind="invalid_url") from None

    async def _connect(self, host: str, port: int) -> anyio.abc.ByteStream:
        return await self.reach.connect(host, port)

    async def _hops(
        self,
        client: HttpClient,
        url: str,
        limits: Limits,
        *,
        depth: int,
        headers: Sequence[tuple[str, str]],
        follow: bool,
    ) -> Fetched:
        seen = [url := normal_url(url)]
        while True:
            origin, _ = split_url(url)
            self.reach.check_literal(origin.host, origin.port)
            response = await client.send("GET", url, headers=_headers(headers))
            try:
                if not follow or response.status not in REDIRECTS:
                    return await _read(response, url, limits.body)
                location = response.headers.get("location")
            finally:
                await response.aclose()
            if not location:
                raise ToolError(f"{_host(url)} redirects to nowhere.", kind="redirect")
            url = self._next(url, location, depth)
            if url in seen or len(seen) > MAX_HOPS:
                raise ToolError(
                    f"{_host(url)} redirects in a circle, or more than {MAX_HOPS} times.",
                    kind="redirect_loop",
                )
            seen.append(url)

    def _next(self, url: str, location: str, depth: int) -> str:
        """Where a redirect leads, if it may be followed without asking."""
        try:
            target = normal_url(urljoin(url, location))
        except (ValueError, ToolError):
            raise ToolError(
                f"{_host(url)} redirects to {location[:200]!r}, which is not a web page.",
                kind="redirect",
            ) from None
        host, before = authority_of(target), authority_of(url)
        downgraded = url.startswith("https:") and target.startswith("http:")
        assert host is not None
        if not downgraded and (host == before or self.reach.permits(self.tool, host, depth=depth)):
            return target
        why = "without encryption" if downgraded else "another host, which was not decided on"
        raise ToolError(
            f"{_host(url)} redirects to {target[:500]} ({why}). It was not followed.",
            hint=f"Call {self.tool} with that URL if you want it; it is decided as a call of "
            "its own.",
            kind="redirected",
        )


def normal_url(url: str) -> str:
    """A URL as it is sent: its host in one form, no fragment, nothing that HTTP cannot carry."""
    host = host_of(url)
    if host is None or len(url) > LONGEST_URL:
        raise ToolError(
            f"{url[:200]!r} is not an http:// or https:// URL that can be fetched.",
            kind="invalid_url",
        )
    parts = urlsplit(url)
    netloc = f"[{host}]" if ":" in host else host
    if parts.port is not None:
        netloc += f":{parts.port}"
    path = quote(parts.path or "/", safe=_SAFE)
    return urlunsplit((parts.scheme, netloc, path, quote(parts.query, safe=_SAFE), ""))


def _headers(more: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    accepted = "text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.5"
    return [("Accept", accepted), ("Accept-Encoding", "identity"), *more]


async def _read(response: HttpResponse, url: str, limit: int) -> Fetched:
    """Read the body up to the limit; more of it is never asked for."""
    unpack = unpacker(response.headers.get("content-encoding", ""), limit=limit)
    while not unpack.full and (data := await response.receive()):
        unpack.feed(data)
    return Fetched(
        url=url,
        status=response.status,
        content_type=response.headers.get("content-type", ""),
        body=unpack.taken(),
        cut=unpack.full,
    )


def _host(url: str) -> str:
    return host_of(url) or url[:100]


def _hint(kind: str) -> str:
    match kind:
        case "cut":
            return "The server ended the connection in the middle of its answer. Try again."
        case "timeout":
            return "Try again, or give it more time."
        case "protocol":
            return "This is not a web server; check the port of the URL."
        case _:
            return "Check the URL. Other hosts may work."
