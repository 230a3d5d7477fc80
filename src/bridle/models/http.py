"""A small streaming HTTP/1.1 client: h11 over anyio sockets, with a keep-alive pool.

It does what a model call needs and no more: no redirects, no cookies, no compression. See
docs/adr/0003-http-client.md for why it exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import anyio
import h11
import msgspec
from anyio.abc import SocketAttribute
from anyio.lowlevel import current_token

from bridle.errors import ConfigError, ModelError
from bridle.models.connection import MAX_HEAD, Connect, Dialer, close, connect_tcp
from bridle.models.proxies import Origin, Proxy, proxy_for, split_url
from bridle.types.base import Fixed, Moving

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import ByteStream

RECEIVE_BYTES = 256 * 1024


class Timeouts(Fixed, frozen=True, kw_only=True):
    """Seconds: to connect, without a byte in either direction, and for the whole exchange."""

    connect: float = 10.0
    idle: float = 300.0
    total: float | None = 3600.0


class _Link(Moving, kw_only=True):
    """One open connection and its protocol state."""

    origin: Origin
    proxy: Proxy | None
    stream: ByteStream
    loop: object
    h11: h11.Connection = msgspec.field(
        default_factory=lambda: h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
    )
    idle_since: float = 0.0


class HttpClient:
    """Sends requests and keeps finished connections for the next one.

    `environ` names proxies and certificates (HTTP_PROXY, HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE,
    SSL_CERT_DIR, REQUESTS_CA_BUNDLE); without it none are used. A client may be shared by tasks and
    used from one event loop after another. `connect` is how hosts are reached without a proxy.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        keep_alive: float = 60.0,
        max_idle: int = 16,
        connect: Connect = connect_tcp,
    ) -> None:
        self._environ = dict(environ or {})
        self.timeouts = timeouts or Timeouts()
        self._keep_alive = keep_alive
        self._max_idle = max_idle
        self._dialer = Dialer(environ=self._environ, timeout=self.timeouts.connect, connect=connect)
        self._idle: list[_Link] = []

    async def send(
        self, method: str, url: str, *, headers: Sequence[tuple[str, str]] = (), body: bytes = b""
    ) -> HttpResponse:
        """Send a request and wait for the head of its response, whatever its status.

        Raises ModelError: `unavailable`, `timeout`, `cut` or `protocol`; ConfigError for a URL or a
        header that cannot be sent. The caller closes the response.
        """
        origin, target = split_url(url)
        proxy = proxy_for(origin, self._environ)
        all_headers = [("Host", origin.host_header), ("User-Agent", "bridle"), *headers]
        if proxy is not None and origin.scheme == "http":
            target = f"http://{origin.authority}{target}"
            if proxy.authorization:
                all_headers.append(("Proxy-Authorization", proxy.authorization))
        if body or method in {"POST", "PUT", "PATCH"}:
            all_headers.append(("Content-Length", str(len(body))))
        request = _request(method, target, all_headers, origin)
        response = HttpResponse(client=self, link=await self._link(origin, proxy))
        started = False
        try:
            await response.start(request, body)
            started = True
        finally:
            if not started:
                await response.aclose()
        return response

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections that wait for reuse."""
        links, self._idle = self._idle, []
        for link in links:
            if link.loop == current_token():
                await close(link.stream)

    async def _link(self, origin: Origin, proxy: Proxy | None) -> _Link:
        """Take a live idle connection, newest first, or open one."""
        now, token = anyio.current_time(), current_token()
        kept: list[_Link] = []
        found: _Link | None = None
        stale: list[_Link] = []
        for link in reversed(self._idle):
            if link.loop != token:
                continue  # its event loop is gone, and its socket with it
            if now - link.idle_since > self._keep_alive or _has_input(link.stream):
                stale.append(link)
            elif found is None and link.origin == origin and link.proxy == proxy:
                found = link
            else:
                kept.append(link)
        self._idle = kept[::-1]
        for link in stale:
            await close(link.stream)
        if found is not None:
            return found
        stream = await self._dialer.open(origin, proxy)
        return _Link(origin=origin, proxy=proxy, stream=stream, loop=token)

    async def release(self, link: _Link) -> None:
        """Keep a connection whose exchange is complete, or close it."""
        conn = link.h11
        complete = conn.our_state is h11.DONE and conn.their_state is h11.DONE
        reusable = complete and not conn.trailing_data[0]  # what nobody asked for answers nothing
        if not reusable or len(self._idle) >= self._max_idle:
            await close(link.stream)
            return
        conn.start_next_cycle()
        link.idle_since = anyio.current_time()
        self._idle.append(link)


class HttpResponse:
    """A response that is being read. Closing it before its end closes the connection."""

    def __init__(self, *, client: HttpClient, link: _Link) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._client = client
        self._link: _Link | None = link
        self._timeouts = client.timeouts
        total = client.timeouts.total
        self._deadline = None if total is None else anyio.current_time() + total
        self._host = link.origin.authority

    async def start(self, request: h11.Request, body: bytes) -> None:
        """Write the request and read the head of the response."""
        link = self._open_link()
        data = link.h11.send(request) or b""
        if body:
            data += link.h11.send(h11.Data(data=body)) or b""
        data += link.h11.send(h11.EndOfMessage()) or b""
        try:
            with anyio.fail_after(self._patience()):
                await link.stream.send(data)
        except TimeoutError:
            raise self._too_slow() from None
        except anyio.BrokenResourceError:
            pass  # it may have answered before it had read all: a refusal is read below
        while True:
            event = self._next_event(link)
            if event is h11.NEED_DATA:
                await self._fill(link)
            elif isinstance(event, h11.Response):
                break
            elif not isinstance(event, h11.InformationalResponse):
                raise self._cut()
        self.status = event.status_code
        for name, value in event.headers:
            self.headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))

    async def receive(self) -> bytes:
        """Give the next bytes of the body; empty at its end.

        Raises ModelError: `timeout` when no byte came in time, `cut` when the connection ended
        before the body did, `protocol` when it is not HTTP.
        """
        link = self._link
        if link is None:
            return b""
        parts: list[bytes] = []
        while True:
            event = self._next_event(link)
            if type(event) is h11.Data:
                parts.append(event.data)
            elif event is h11.NEED_DATA:
                if parts:
                    return parts[0] if len(parts) == 1 else b"".join(parts)
                await self._fill(link)
            else:
                self._link = None
                await self._client.release(link)
                return b"".join(parts)

    async def read(self, limit: int) -> bytes:
        """Read the body up to about `limit` bytes; what came before a cut is kept."""
        parts: list[bytes] = []
        size = 0
        try:
            while size < limit and (data := await self.receive()):
                parts.append(data)
                size += len(data)
        except ModelError:
            if not parts:
                raise
        return b"".join(parts)[:limit]

    async def drain(self, seconds: float) -> None:
        """Read what little is left so that the connection can be reused; else close it."""
        with anyio.move_on_after(seconds):
            try:
                while await self.receive():
                    pass
            except ModelError:
                pass  # the answer is complete; only the connection is lost
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection if the body was not read to its end."""
        link, self._link = self._link, None
        if link is not None:
            await close(link.stream)

    async def _fill(self, link: _Link) -> None:
        try:
            with anyio.fail_after(self._patience()):
                data = await link.stream.receive(RECEIVE_BYTES)
        except TimeoutError:
            raise self._too_slow() from None
        except anyio.EndOfStream:
            data = b""
        except anyio.BrokenResourceError:
            raise self._cut() from None
        try:
            link.h11.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise self._garbage(error) from None

    def _next_event(self, link: _Link) -> object:
        try:
            return link.h11.next_event()
        except h11.RemoteProtocolError as error:
            if link.h11.trailing_data[1]:
                raise self._cut() from None
            raise self._garbage(error) from None

    def _open_link(self) -> _Link:
        if self._link is None:
            raise self._cut()
        return self._link

    def _patience(self) -> float:
        if self._deadline is None:
            return self._timeouts.idle
        return max(0.0, min(self._timeouts.idle, self._deadline - anyio.current_time()))

    def _too_slow(self) -> ModelError:
        if self._deadline is not None and anyio.current_time() >= self._deadline:
            total = self._timeouts.total
            return ModelError(f"{self._host} did not finish within {total:g} s", kind="timeout")
        idle = self._timeouts.idle
        return ModelError(f"{self._host} sent nothing for {idle:g} s", kind="timeout")

    def _cut(self) -> ModelError:
        return ModelError(f"{self._host} closed the connection before the end", kind="cut")

    def _garbage(self, error: Exception) -> ModelError:
        return ModelError(f"{self._host} does not speak HTTP/1.1: {error}", kind="protocol")


def _request(
    method: str, target: str, headers: list[tuple[str, str]], origin: Origin
) -> h11.Request:
    """Build the head of a request. The error names no value: a header may hold a key."""
    try:
        return h11.Request(method=method, target=target, headers=headers)
    except (h11.LocalProtocolError, UnicodeEncodeError):
        raise ConfigError(
            f"The request to {origin.authority} cannot be sent: its path or one of its headers "
            "(a key?) holds a line break or another character that HTTP does not allow"
        ) from None


def _has_input(stream: ByteStream) -> bool:
    """Whether an idle connection is readable: it was closed, or says what nobody asked for."""
    import select

    sock = stream.extra(SocketAttribute.raw_socket, None)
    if sock is None or sock.fileno() < 0:
        return True
    poll = getattr(select, "poll", None)
    if poll is None:
        return bool(select.select([sock], [], [], 0)[0])
    poller = poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))
