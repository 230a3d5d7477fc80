"""Which hosts may be reached, and the proxy that holds commands to it."""

import ipaddress
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bridle.errors import ConfigError
from bridle.ports.sandbox import SandboxPolicy
from bridle.sandbox.hosts import AllowedHosts, Target, parse_authority
from bridle.sandbox.kinds import make_sandbox
from bridle.sandbox.proxy import parse_request
from bridle.sandbox.supervisor import Supervisor
from sandbox.helpers import Shell


def allowed(authority: str, *entries: str, port: int = 443) -> bool:
    target = parse_authority(authority, default_port=port)
    return target is not None and AllowedHosts(entries).permits(target)


@pytest.mark.parametrize(
    ("authority", "entries"),
    [
        ("a.io", ["a.io"]), ("A.IO", ["a.io"]), ("a.io.", ["a.io"]), ("a.io:80", ["A.io"]),
        ("x.a.io", ["*.a.io"]), ("x.y.a.io:443", ["*.a.io"]), ("a.io:8443", ["a.io:8443"]),
        ("127.0.0.1:8080", ["127.0.0.1:8080"]), ("[::1]:80", ["[::1]"]), ("xn--bcher-kva.de",
        ["xn--bcher-kva.de"]),
    ],
)  # fmt: skip
def test_what_is_named_is_allowed(authority: str, entries: list[str]) -> None:
    assert allowed(authority, *entries)


@pytest.mark.parametrize(
    "authority",
    [
        "a.io.example.com", "xa.io", "x.a.io", "good.com@a.io", "a.io@evil.com", "evil.com#a.io",
        "evil.com/a.io", "evil.com\\a.io", "evil.com\0.a.io", "evil.com%00.a.io", "a.io%2eevil.com",
        "a.io:22", "a.io:0", "a.io:99999", "a.io:", "a.io:443:1", " a.io", "a.io ", "a.io\n", "",
        ".", "a..io", "-a.io", "ａ.io", "a。io", "0x7f000001", "2130706433", "127.1", "0177.0.0.1",
        "017700000001", "127.0.0.1.", "[::ffff:127.0.0.1]", "[::1%eth0]", "::1", "[a.io]",
        "127.0.0.1", "localhost",
    ],
)  # fmt: skip
def test_nothing_else_is(authority: str) -> None:
    """N01 to N03"""
    assert not allowed(authority, "a.io", "*.good.com")


@given(st.text(max_size=30))
def test_any_text_is_one_host_or_none(text: str) -> None:
    target = parse_authority(text, default_port=443)
    if target is None:
        return
    again = parse_authority(f"[{target.host}]" if ":" in target.host else target.host,
                            default_port=target.port)  # fmt: skip
    assert again == target
    assert target.host == target.host.lower()
    assert target.host.isascii()


def test_names_do_not_lead_to_this_machine() -> None:
    hosts = AllowedHosts(("corp.io", "*.wild.io", "localhost", "127.0.0.1:80"))
    address = ipaddress.ip_address
    exact, wild = Target("corp.io", 443), Target("x.wild.io", 443)
    for target in (exact, wild):
        for bad in ("127.0.0.1", "::1", "169.254.169.254", "::ffff:127.0.0.1", "0.0.0.0",
                    "224.0.0.1", "fe80::1"):  # fmt: skip
            assert not hosts.permits_address(target, address(bad))
        assert hosts.permits_address(target, address("93.184.216.34"))
    assert hosts.permits_address(exact, address("10.0.0.1"))
    assert not hosts.permits_address(wild, address("10.0.0.1"))
    assert hosts.permits_address(Target("localhost", 80), address("127.0.0.1"))
    assert hosts.permits_address(Target("127.0.0.1", 80), address("127.0.0.1"))


@pytest.mark.parametrize("entry", ["http://a.io", "*", "*.1.2.3.4", "a.io/x", "a b", "*.*.io", ""])
def test_a_bad_entry_is_an_error(entry: str) -> None:
    with pytest.raises(ConfigError, match="allowed_hosts"):
        AllowedHosts((entry,))


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: a.io", b"CONNECT a.io", b"CONNECT a.io\0.b.io:443 HTTP/1.1",
        b"GET https://a.io/ HTTP/1.1", b"GET ftp://a.io/ HTTP/1.1", b"get http://a.io/ HTTP/1.1",
        b"GET http://a.io/ HTTP/2", b"GET http://b@a.io/ HTTP/1.1",
        b"CONNECT a.io:443 HTTP/1.1\r\n\0",
        b"GET http://a.io\\@b.io/ HTTP/1.1", b"\xff\xfe", b"",
    ],
)  # fmt: skip
def test_odd_requests_are_not_understood(head: bytes) -> None:
    assert parse_request(head) is None


def test_the_host_that_is_sent_on_is_the_one_that_was_checked() -> None:
    head = b"GET http://a.io/x?y HTTP/1.1\r\nHost: evil.io\r\nProxy-Connection: x\r\nA: b"
    target, forward = parse_request(head) or (None, b"")
    assert target == Target("a.io", 80)
    assert forward == b"GET /x?y HTTP/1.1\r\nHost: a.io\r\nConnection: close\r\nA: b\r\n\r\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/redirect/"):
            self.send_response(302)
            self.send_header("Location", "http://" + self.path.removeprefix("/redirect/"))
            self.end_headers()
            return
        body = f"hello from {self.headers['Host']} {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[int]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield httpd.server_port
    httpd.shutdown()
    httpd.server_close()
    thread.join()


FETCH = """python3 - <<'EOF'
import os, urllib.request
os.environ.pop("no_proxy"), os.environ.pop("NO_PROXY")
for url in {urls!r}:
    try:
        print(urllib.request.build_opener(urllib.request.ProxyHandler({{"http": "{proxy}"}})).open(
            url, timeout=10).read().decode().strip())
    except Exception as error:
        print(type(error).__name__, getattr(error, "code", ""), error)
EOF"""


@pytest.fixture
def hosted(supervisor: Supervisor, policy: SandboxPolicy, server: int) -> Shell:
    policy = replace(policy, network="hosts", allowed_hosts=(f"localhost:{server}",))
    return Shell(supervisor, make_sandbox("bubblewrap", policy), policy.root)


@pytest.mark.bwrap
@pytest.mark.anyio
async def test_allowed_hosts_are_reached_and_no_others(hosted: Shell, server: int) -> None:
    """N04 and N06: also not by a redirect, and not around the proxy."""
    urls = [
        f"http://localhost:{server}/one",
        f"http://127.0.0.1:{server}/two",
        f"http://localhost:{server}/redirect/127.0.0.1:{server}/three",
        f"http://localhost:{server}/redirect/localhost:{server}/four",
        f"http://localhost:{server + 1}/five",
        "http://example.com/six",
    ]
    result = await hosted(FETCH.format(urls=urls, proxy="http://127.0.0.1:3128"))
    lines = result.stdout.strip().split("\n")
    assert lines[0] == f"hello from localhost:{server} /one"
    assert lines[3] == f"hello from localhost:{server} /four"
    assert all("403" in lines[number] for number in (1, 2, 4, 5)), lines
    direct = await hosted(
        f"exec 3<>/dev/tcp/127.0.0.1/{server}; echo $?; curl -sS --noproxy '*' -m 5 "
        f"http://127.0.0.1:{server}/ ; getent hosts example.com; echo end"
    )
    assert "hello" not in direct.stdout
    assert direct.stdout.endswith("end\n")


@pytest.mark.bwrap
@pytest.mark.anyio
async def test_tunnels_are_carried(hosted: Shell, server: int) -> None:
    result = await hosted(
        f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT localhost:{server} HTTP/1.1\\r\\n\\r\\n'"
        f" >&3; read -r line <&3; echo $line; read -r line <&3; "
        f"printf 'GET /t HTTP/1.0\\r\\nHost: h\\r\\n\\r\\n' >&3; cat <&3; "
        f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT evil.io:443 HTTP/1.1\\r\\n\\r\\n' >&3; "
        f"cat <&3"
    )
    assert result.stdout.startswith("HTTP/1.1 200 Connection established")
    assert "hello from h /t" in result.stdout
    assert "the sandbox refused evil.io:443: it is not in allowed_hosts" in result.stdout


@pytest.mark.bwrap
@pytest.mark.anyio
async def test_a_missing_program_behind_the_proxy_is_told(hosted: Shell) -> None:
    result = await hosted.supervisor.run(
        ["no-such-program"], sandbox=hosted.sandbox, cwd=hosted.cwd, timeout=20
    )
    assert result.exit_code == 127
    assert "No such file" in result.stdout


@pytest.mark.parametrize("kind", ["landlock", "seatbelt"])
def test_kinds_that_cannot_filter_hosts_refuse(kind: str, policy: SandboxPolicy) -> None:
    with pytest.raises(ConfigError):
        make_sandbox(kind, replace(policy, network="hosts", allowed_hosts=("a.io",)))
