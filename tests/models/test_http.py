from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import anyio
import pytest

from bridle.errors import ConfigError, ModelError
from bridle.models.connection import make_context
from bridle.models.http import HttpClient, Timeouts
from support.proxy_server import ProxyServer
from support.wire_server import CUT, STALL, WireServer

needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs the openssl command to make a certificate"
)


async def fetch(client: HttpClient, url: str, body: bytes = b"{}") -> tuple[int, bytes]:
    response = await client.send("POST", url, body=body)
    try:
        return response.status, await response.read(10**9)
    finally:
        await response.aclose()


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
async def test_a_body_is_read_in_every_framing(http: HttpClient, framing: str) -> None:
    async with WireServer() as server:
        server.replies(b"one ", b"two ", b"three", framing=framing)
        assert await fetch(http, server.url) == (200, b"one two three")


async def test_a_large_body_goes_both_ways(http: HttpClient) -> None:
    big = bytes(range(256)) * 40_000
    async with WireServer() as server:
        server.replies(big)
        assert await fetch(http, server.url, big) == (200, big)
    assert server.requests[0].body == big


async def test_connections_are_reused_and_compression_is_not_asked_for(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(b"hi")
        for _ in range(3):
            await fetch(http, server.url)
    assert server.connections == 1
    assert "accept-encoding" not in server.requests[0].headers


async def test_a_response_that_was_not_read_to_its_end_closes_its_connection(
    http: HttpClient,
) -> None:
    async with WireServer() as server:
        server.replies(b"x" * 100, STALL)
        response = await http.send("GET", server.url)
        assert await response.receive()
        await response.aclose()
        with anyio.fail_after(5):
            await server.gone.wait()


async def test_a_connection_that_the_server_closed_meanwhile_is_not_reused(
    http: HttpClient,
) -> None:
    async with WireServer() as server:
        server.replies(b"hi", CUT, framing="length", headers={"Content-Length": "2"})
        assert await fetch(http, server.url) == (200, b"hi")
        await anyio.sleep(0.05)
        assert await fetch(http, server.url) == (200, b"hi")
    assert server.connections == 2


async def test_parallel_requests_have_connections_of_their_own(http: HttpClient) -> None:
    results: list[tuple[int, bytes]] = []
    async with WireServer() as server:
        server.replies(b"a", 0.05, b"b")

        async def one() -> None:
            results.append(await fetch(http, server.url))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(one)
    assert results == [(200, b"ab")] * 5
    assert server.connections == 5


def test_a_client_may_move_from_one_event_loop_to_the_next() -> None:
    client = HttpClient()

    async def visit() -> tuple[int, bytes]:
        async with WireServer() as server:
            server.replies(b"hi", framing="close")
            return await fetch(client, server.url)

    assert [asyncio.run(visit()) for _ in range(2)] == [(200, b"hi")] * 2


async def test_nobody_there_is_unavailable(http: HttpClient) -> None:
    async with WireServer() as server:
        url = server.url
    with pytest.raises(ModelError, match=r"Cannot reach 127\.0\.0\.1") as error:
        await fetch(http, url)
    assert error.value.kind == "unavailable"


async def test_an_unknown_host_is_unavailable(http: HttpClient) -> None:
    with pytest.raises(ModelError, match=r"Cannot reach no-such-host\.invalid:80") as error:
        await fetch(http, "http://no-such-host.invalid/")
    assert error.value.kind == "unavailable"


async def test_no_connection_in_time_is_a_timeout() -> None:
    with socket_that_never_accepts() as port:
        client = HttpClient(timeouts=Timeouts(connect=0.1))
        with pytest.raises(ModelError) as error:
            await fetch(client, f"http://127.0.0.1:{port}/")
    assert error.value.kind == "timeout"


class socket_that_never_accepts:
    """A listener whose queue is full, so that a connection attempt hangs."""

    def __enter__(self) -> int:
        import socket

        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        port: int = self.listener.getsockname()[1]
        self.fillers = []
        for _ in range(8):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            self.fillers.append(filler)
        return port

    def __exit__(self, *_: object) -> None:
        for filler in self.fillers:
            filler.close()
        self.listener.close()


async def test_a_slow_head_and_a_slow_body_time_out() -> None:
    client = HttpClient(timeouts=Timeouts(idle=0.1))
    async with WireServer() as server:
        for reply in ((STALL,), (b"some", STALL)):
            server.replies(*reply, head=b"" if reply[0] == STALL else None)
            with pytest.raises(ModelError, match=r"sent nothing for 0\.1 s") as error:
                await fetch_strictly(client, server.url)
            assert error.value.kind == "timeout"


async def fetch_strictly(client: HttpClient, url: str) -> bytes:
    """Like fetch, without keeping what came before a failure."""
    response = await client.send("POST", url, body=b"{}")
    parts = []
    try:
        while data := await response.receive():
            parts.append(data)
    finally:
        await response.aclose()
    return b"".join(parts)


async def test_a_trickle_ends_at_the_total_timeout() -> None:
    client = HttpClient(timeouts=Timeouts(idle=5, total=0.2))
    async with WireServer() as server:
        server.replies(*(b"x", 0.02) * 200)
        with pytest.raises(ModelError, match=r"did not finish within 0.2 s") as error:
            await fetch_strictly(client, server.url)
    assert error.value.kind == "timeout"


@pytest.mark.parametrize(
    "head",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"\x00\xff" * 50 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000,
    ],
)
async def test_what_is_not_http_is_a_typed_error(http: HttpClient, head: bytes) -> None:
    async with WireServer() as server:
        server.replies(head=head, framing="close")
        with pytest.raises(ModelError) as error:
            await fetch(http, server.url)
    assert error.value.kind in {"protocol", "cut"}


async def test_a_broken_chunk_is_a_typed_error(http: HttpClient) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n"
    async with WireServer() as server:
        server.replies(head=head, framing="close")
        with pytest.raises(ModelError) as error:
            await fetch(http, server.url)
    assert error.value.kind == "protocol"


@pytest.mark.parametrize("framing", ["chunked", "length"])
async def test_a_body_that_ends_early_is_cut(http: HttpClient, framing: str) -> None:
    async with WireServer() as server:
        server.replies(b"some", CUT, framing=framing, headers={"Content-Length": "100"})
        if framing == "chunked":
            server.replies(b"some", CUT)
        with pytest.raises(ModelError) as error:
            await fetch_strictly(http, server.url)
    assert error.value.kind == "cut"


async def test_early_hints_are_passed_over(http: HttpClient) -> None:
    head = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    async with WireServer() as server:
        server.replies(head=head, framing="close")
        assert await fetch(http, server.url) == (200, b"hi")


async def test_an_http_proxy_forwards_with_its_credentials() -> None:
    async with WireServer() as server, ProxyServer() as proxy:
        server.replies(b"hi")
        url = proxy.url.replace("//", "//user:p%40ss@")
        async with HttpClient(environ={"HTTP_PROXY": url}) as client:
            assert await fetch(client, f"{server.url}/v1") == (200, b"hi")
    assert proxy.heads[0].startswith(f"POST {server.url}/v1 HTTP/1.1")
    assert "Proxy-Authorization: Basic dXNlcjpwQHNz" in proxy.heads[0]


async def test_no_proxy_goes_past_the_proxy() -> None:
    async with WireServer() as server, ProxyServer() as proxy:
        server.replies(b"hi")
        environ = {"HTTP_PROXY": proxy.url, "NO_PROXY": "example.com,127.0.0.0/8"}
        async with HttpClient(environ=environ) as client:
            assert await fetch(client, server.url) == (200, b"hi")
    assert proxy.heads == []


async def test_a_proxy_that_refuses_is_named_without_its_credentials() -> None:
    async with ProxyServer(refuse=407) as proxy:
        url = proxy.url.replace("//", "//user:secret@")
        client = HttpClient(environ={"HTTPS_PROXY": url})
        with pytest.raises(ModelError, match=r"refused a tunnel .* \(HTTP 407\)") as error:
            await fetch(client, "https://api.example.com/v1")
    assert "secret" not in str(error.value)
    assert error.value.kind == "bad_request"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return key, cert


@pytest.fixture
def server_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


@needs_openssl
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
async def test_a_custom_ca_is_trusted_when_the_environment_names_it(
    server_tls: ssl.SSLContext, certificate: tuple[Path, Path], variable: str
) -> None:
    async with WireServer(ssl=server_tls) as server:
        server.replies(b"hi")
        async with HttpClient(environ={variable: str(certificate[1])}) as client:
            for _ in range(2):
                assert await fetch(client, server.url) == (200, b"hi")
    assert server.connections == 1


@needs_openssl
async def test_an_unknown_certificate_is_refused_with_advice(
    http: HttpClient, server_tls: ssl.SSLContext
) -> None:
    async with WireServer(ssl=server_tls) as server:
        with pytest.raises(ModelError, match=r"is not trusted.*SSL_CERT_FILE") as error:
            await fetch(http, server.url)
    assert not error.value.retryable


@needs_openssl
async def test_https_goes_through_a_tunnel(
    server_tls: ssl.SSLContext, certificate: tuple[Path, Path]
) -> None:
    async with WireServer(ssl=server_tls) as server, ProxyServer() as proxy:
        server.replies(b"hi")
        environ = {"https_proxy": proxy.url, "SSL_CERT_FILE": str(certificate[1])}
        async with HttpClient(environ=environ) as client:
            assert await fetch(client, server.url) == (200, b"hi")
    assert proxy.heads[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1")


async def test_tls_to_a_plain_server_is_unavailable(http: HttpClient) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelError, match="No TLS connection") as error:
            await fetch(http, f"https://127.0.0.1:{port}/")
        await asyncio.sleep(0.01)
    assert error.value.kind == "unavailable"


def test_a_ca_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"SSL_CERT_FILE=/nowhere/ca\.pem"):
        make_context({"SSL_CERT_FILE": "/nowhere/ca.pem"})


def test_a_url_that_is_none_is_named() -> None:
    async def main() -> None:
        await HttpClient().send("GET", "localhost:8000/v1")

    with pytest.raises(ConfigError, match="is not an http"):
        asyncio.run(main())


async def test_a_server_that_hangs_up_on_a_large_body_is_a_typed_error(http: HttpClient) -> None:
    async def slam(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    server = await asyncio.start_server(slam, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelError) as error:
            await fetch(http, f"http://127.0.0.1:{port}/", b"x" * 30_000_000)
    assert error.value.kind == "cut"


async def test_no_more_connections_are_kept_than_allowed() -> None:
    async with WireServer() as server, HttpClient(max_idle=2) as client:
        server.replies(b"a", 0.05, b"b")
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(fetch, client, server.url)
        assert len(client._idle) == 2


async def test_a_connection_idle_for_too_long_is_not_reused() -> None:
    async with WireServer() as server, HttpClient(keep_alive=0) as client:
        server.replies(b"hi")
        for _ in range(2):
            await fetch(client, server.url)
    assert server.connections == 2


async def test_reading_after_the_end_gives_nothing(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(b"hi")
        response = await http.send("GET", server.url)
        assert await response.read(1) == b"h"
        assert await response.read(10) == b""
        await response.aclose()


async def test_a_proxy_that_hangs_up_gives_no_tunnel() -> None:
    async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(slam, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        client = HttpClient(environ={"HTTPS_PROXY": f"127.0.0.1:{port}"})
        with pytest.raises(ModelError, match="gave no tunnel") as error:
            await fetch(client, "https://api.example.com/")
        await asyncio.sleep(0.01)
    assert error.value.kind == "unavailable"


@needs_openssl
async def test_a_folder_of_certificates_may_be_named(certificate: tuple[Path, Path]) -> None:
    folder = str(certificate[1].parent)
    for environ in ({"SSL_CERT_DIR": folder}, {"REQUESTS_CA_BUNDLE": folder}):
        assert make_context(environ).verify_mode is ssl.CERT_REQUIRED


async def test_bytes_after_the_answer_do_not_answer_the_next_request(http: HttpClient) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    head += b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
    async with WireServer() as server:
        server.replies(head=head, framing="length")
        for _ in range(3):
            assert await fetch(http, server.url) == (200, b"hi")


async def test_a_name_that_cannot_be_one_is_unavailable(http: HttpClient) -> None:
    with pytest.raises(ModelError, match="Cannot reach") as error:
        await fetch(http, "http://a..b/")
    assert error.value.kind == "unavailable"
