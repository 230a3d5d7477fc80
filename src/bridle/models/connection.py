"""Opening a connection: direct or through a proxy, plain or TLS, within a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import h11
from anyio.abc import ByteStream

from bridle.errors import ConfigError, ModelError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from bridle.models.proxies import Origin, Proxy

MAX_HEAD = 64 * 1024
Connect = Callable[[str, int], Awaitable[ByteStream]]
"""Opens a connection to a host and a port; raises `OSError` where it cannot."""

CA_FILES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


async def connect_tcp(host: str, port: int) -> ByteStream:
    """Connect to whatever address the system finds for the host."""
    return await anyio.connect_tcp(host, port)


class Dialer:
    """Opens connections with the certificates that the environment names.

    The TLS context is made on the first https connection: it costs more than the rest of a
    request. `connect` reaches hosts directly; a proxy is the user's own and always reached.
    """

    def __init__(
        self, *, environ: Mapping[str, str], timeout: float, connect: Connect = connect_tcp
    ) -> None:
        self._environ = environ
        self._timeout = timeout
        self._connect = connect
        self._context: ssl.SSLContext | None = None

    async def open(self, origin: Origin, proxy: Proxy | None) -> ByteStream:
        """Connect, with the proxy's tunnel and TLS where they are needed.

        Raises ModelError: `timeout`, `unavailable`, or `bad_request` for a refused certificate.
        """
        try:
            with anyio.fail_after(self._timeout):
                return await self._open(origin, proxy)
        except TimeoutError:
            raise ModelError(
                f"No connection to {_via(origin, proxy)} within {self._timeout:g} s",
                kind="timeout",
            ) from None

    async def _open(self, origin: Origin, proxy: Proxy | None) -> ByteStream:
        first = proxy.origin if proxy else origin
        connect = connect_tcp if proxy else self._connect
        stream: ByteStream = await _dial(connect, first, _via(origin, proxy))
        done = False
        try:
            if first.scheme == "https":
                stream = await self._secure(stream, first)
            if proxy is not None and origin.scheme == "https":
                await _tunnel(stream, origin, proxy)
                stream = await self._secure(stream, origin)
            done = True
        finally:
            if not done:
                await close(stream)
        return stream

    async def _secure(self, stream: ByteStream, origin: Origin) -> ByteStream:
        import ssl

        from anyio.streams.tls import TLSStream

        if self._context is None:
            self._context = make_context(self._environ)
        try:
            return await TLSStream.wrap(
                stream,
                hostname=origin.host,
                ssl_context=self._context,
                standard_compatible=False,
            )
        except ssl.SSLCertVerificationError as error:
            raise ModelError(
                f"The certificate of {origin.authority} is not trusted: {error.verify_message}. "
                "Set SSL_CERT_FILE to the CA bundle that signs it.",
                kind="bad_request",
            ) from None
        except (ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream, OSError) as error:
            raise ModelError(
                f"No TLS connection to {origin.authority}: {_reason(error)}", kind="unavailable"
            ) from None


async def _dial(connect: Connect, origin: Origin, what: str) -> ByteStream:
    try:
        return await connect(origin.host, origin.port)
    except (OSError, UnicodeError) as error:  # a name that cannot be one is a UnicodeError
        raise ModelError(f"Cannot reach {what}: {_reason(error)}", kind="unavailable") from None


def make_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Build the TLS context from SSL_CERT_FILE, SSL_CERT_DIR, REQUESTS_CA_BUNDLE or the system.

    Raises ConfigError when a variable names something that cannot be read.
    """
    import ssl

    name = next((n for n in CA_FILES if environ.get(n)), None)
    file, folder = environ[name] if name else None, environ.get("SSL_CERT_DIR") or None
    if file and Path(file).is_dir():
        file, folder = None, file
    try:
        context = ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"{name or 'SSL_CERT_DIR'}={file or folder}: {error}") from None
    if not file and not folder and _system_has_none(context):
        _load_certifi(context)
    context.set_alpn_protocols(["http/1.1"])
    return context


async def close(stream: ByteStream) -> None:
    """Close at once, also when the task is being cancelled."""
    with anyio.CancelScope(shield=True):
        await anyio.aclose_forcefully(stream)


async def _tunnel(stream: ByteStream, origin: Origin, proxy: Proxy) -> None:
    """Ask an HTTP proxy for a connection to the origin."""
    conn = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
    headers = [("Host", origin.authority), ("User-Agent", "bridle")]
    if proxy.authorization:
        headers.append(("Proxy-Authorization", proxy.authorization))
    request = h11.Request(method="CONNECT", target=origin.authority, headers=headers)
    try:
        await stream.send(conn.send(request) or b"")
        await stream.send(conn.send(h11.EndOfMessage()) or b"")
        while (event := conn.next_event()) is h11.NEED_DATA or isinstance(
            event, h11.InformationalResponse
        ):
            if event is h11.NEED_DATA:
                conn.receive_data(await stream.receive())
    except (anyio.BrokenResourceError, anyio.EndOfStream, h11.RemoteProtocolError) as error:
        raise ModelError(
            f"The proxy {proxy.origin.authority} gave no tunnel: {_reason(error)}",
            kind="unavailable",
        ) from None
    if not isinstance(event, h11.Response) or not 200 <= event.status_code < 300:
        status = event.status_code if isinstance(event, h11.Response) else None
        raise ModelError(
            f"The proxy {proxy.origin.authority} refused a tunnel to {origin.authority} "
            f"(HTTP {status})",
            kind="bad_request" if status in {400, 403, 405, 407} else "unavailable",
            status=status,
        )


def _via(origin: Origin, proxy: Proxy | None) -> str:
    return f"{origin.authority} (proxy {proxy.origin.authority})" if proxy else origin.authority


def _reason(error: BaseException) -> str:
    """The innermost readable reason; anyio wraps what each address said in a group."""
    cause = error.__cause__
    if isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    if isinstance(cause, OSError):
        error = cause
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _system_has_none(context: ssl.SSLContext) -> bool:
    """Whether this Python finds no certificates of the system; a folder is read only on use."""
    import ssl

    folder = ssl.get_default_verify_paths().capath
    return not context.get_ca_certs() and not (folder and any(Path(folder).iterdir()))


def _load_certifi(context: ssl.SSLContext) -> None:
    """Use certifi's bundle, when there is one."""
    try:
        certifi = import_module("certifi")
    except ImportError:
        return
    context.load_verify_locations(certifi.where())
