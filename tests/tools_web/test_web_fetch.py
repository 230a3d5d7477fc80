from __future__ import annotations

import gzip
import socket
import time
import zlib
from typing import Any

import msgspec
import pytest

from bridle import Rules, ToolError, Workspace
from bridle.permissions.compile import policy_of
from bridle.testing import calls, says
from bridle.tools.builtin.web_fetch import shown
from bridle.tools.web.fetch import Fetched, Fetcher, Limits
from bridle.tools.web.reach import Reach
from bridle.types.permissions import Policy
from support.calls import results
from support.hostile import HostileServer

pytestmark = pytest.mark.anyio
LIMITS = Limits(seconds=20, body=100_000)


def fetcher(*allowed: str, resolve: Any = None, rules: Rules | None = None) -> Fetcher:
    policy = policy_of(rules or Rules())
    policy = Policy(profile="balanced", rules=policy.rules, hosts=allowed or None)
    more = {"resolve": resolve} if resolve else {}
    return Fetcher(
        tool="web_fetch", reach=Reach(policy=policy, allowed=allowed, **more), environ={}
    )


async def refused(work: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await work
    return caught.value


# --- through the gate --------------------------------------------------------------------------


async def test_a_listed_host_is_fetched_and_read_as_text(opened, model, server, tmp_path):
    server.page("/", "<title>Home</title><h1>Hello</h1><p>see <a href='/more'>more</a>")
    model.plays(calls("web_fetch", url=server.url("/")), says("ok"))
    async with opened("web_fetch", workspace=Workspace(tmp_path, allowed_hosts=[server.host])) as h:
        session = await h.session()
        await session.send("go")
        (end,) = await results(session)
    assert not end.is_error
    assert "Title: Home" in end.result
    assert "# Hello" in end.result
    assert f"[more]({server.url('/more')})" in end.result


async def test_another_host_is_denied_and_nothing_is_sent(opened, model, server, tmp_path):
    server.page("/", "x")
    model.plays(calls("web_fetch", url=server.url("/")), says("ok"))
    async with opened("web_fetch", workspace=Workspace(tmp_path, allowed_hosts=["e.org"])) as h:
        session = await h.session()
        await session.send("go")
        (end,) = await results(session)
    assert end.denied
    assert "host is not allowed" in end.result
    assert server.requests == []


async def test_an_unlisted_network_is_asked_for_with_the_host_on_the_card(opened, model):
    model.plays(calls("web_fetch", url="https://docs.example.org:8443/a?b=c"), says("ok"))
    async with opened("web_fetch") as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.reason == "awaiting"
        (pending,) = result.pending
        assert pending.card["hosts"] == ["docs.example.org:8443"]
        assert "docs.example.org:8443" in pending.card["title"]
        await session.decline(pending.id)
        await session.wait(result.run_id)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd",
     "ftp://e.org/", "http://u:p@e.org/", "http://2130706433/", "javascript:1",
     "http://e.org\\@evil.org/", "http://0x7f.1/", "//e.org/", "http://[::1%25lo]/"],
)  # fmt: skip
async def test_what_is_no_plain_web_address_is_an_invalid_argument(opened, model, url):
    model.plays(calls("web_fetch", url=url), says("ok"))
    async with opened("web_fetch", permissions=Rules(yolo=True)) as harness:
        session = await harness.session()
        await session.send("go")
        (end,) = await results(session)
    assert end.kind == "invalid_arguments"
    assert "http:// or https://" in end.result


# --- addresses ---------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254",
                                  "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[fd00::1]", "0.0.0.0",
                                  "100.64.0.1", "224.0.0.1"])  # fmt: skip
async def test_what_is_not_on_the_internet_is_refused_unless_named(host):
    async def resolve(name: str, port: int) -> list[str]:
        return ["127.0.0.1" if name == "localhost" else name]

    error = await refused(fetcher(resolve=resolve).get(f"http://{host}/", limits=LIMITS))
    assert error.kind == "address_refused", error.message


async def test_a_proxy_does_not_connect_to_them_for_us(server):
    """The control: the same proxy is asked for a host on the internet."""
    server.answers["http://example.org:80/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    proxied = msgspec.structs.replace(fetcher(), environ={"http_proxy": server.url("")})
    for host in ("169.254.169.254", "localhost", "a.localhost", "[::1]"):
        error = await refused(proxied.get(f"http://{host}/", limits=LIMITS))
        assert error.kind == "address_refused"
    assert server.requests == []
    assert (await proxied.get("http://example.org/", limits=LIMITS)).body == b"ok"


async def test_the_named_host_itself_is_reached(server):
    server.page("/", "x", content_type="text/plain")
    page = await fetcher(server.host).get(server.url("/"), limits=LIMITS)
    assert page.body == b"x"


async def test_a_name_that_leads_inside_is_refused_however_often_it_changes(server):
    """DNS rebinding: the address that is connected to is the one that was checked."""
    server.page("/", "inside")
    asked: list[str] = []

    async def rebinding(name: str, port: int) -> list[str]:
        asked.append(name)
        return ["93.184.216.34"] if len(asked) % 2 == 0 else ["127.0.0.1"]

    port = server.port
    rebound = fetcher(f"rebind.example:{port}", resolve=rebinding)
    error = await refused(rebound.get(f"http://rebind.example:{port}/", limits=LIMITS))
    assert error.kind == "address_refused"
    assert asked == ["rebind.example"]
    assert server.requests == []
    # the control: the same resolver, asked twice as a naive client would, leads inside
    checked, used = await rebinding("x", port), await rebinding("x", port)
    assert checked != used


# --- redirects ---------------------------------------------------------------------------------


async def test_redirects_on_the_same_host_are_followed(server):
    server.redirect("/a", "/b", 301)
    server.redirect("/b", server.url("/c"), 307)
    server.page("/c", "end")
    page = await fetcher(server.host).get(server.url("/a"), limits=LIMITS)
    assert (page.body, page.url) == (b"end", server.url("/c"))


async def test_a_redirect_to_another_host_is_a_call_of_its_own(server):
    with HostileServer() as other:
        other.page("/x", "other")
        server.redirect("/a", other.url("/x"))
        error = await refused(fetcher(server.host).get(server.url("/a"), limits=LIMITS))
        assert error.kind == "redirected"
        assert other.url("/x") in error.message
        assert other.requests == []
        both = fetcher(server.host, other.host)
        assert (await both.get(server.url("/a"), limits=LIMITS)).body == b"other"
        rules = Rules(patterns=((f"web_fetch(domain:{other.host})", "deny"),))
        denied = fetcher(server.host, other.host, rules=rules)
        assert (await refused(denied.get(server.url("/a"), limits=LIMITS))).kind == "redirected"
        assert len(other.requests) == 1


@pytest.mark.parametrize("target", ["file:///etc/passwd", "gopher://x/", "//u@h/",
                                    "http://e.org\\x", "data:text/plain,x"])  # fmt: skip
async def test_a_redirect_to_something_else_is_refused(server, target):
    server.redirect("/a", target)
    error = await refused(fetcher(server.host).get(server.url("/a"), limits=LIMITS))
    assert error.kind == "redirect"


async def test_redirect_circles_and_chains_end(server):
    server.redirect("/a", "/b")
    server.redirect("/b", "/a")
    error = await refused(fetcher(server.host).get(server.url("/a"), limits=LIMITS))
    assert error.kind == "redirect_loop"
    for number in range(30):
        server.redirect(f"/c{number}", f"/c{number + 1}")
    seen = len(server.requests)
    error = await refused(fetcher(server.host).get(server.url("/c0"), limits=LIMITS))
    assert error.kind == "redirect_loop"
    assert len(server.requests) - seen < 10


# --- hostile bodies ----------------------------------------------------------------------------


async def test_an_endless_body_is_cut_at_the_limit(server):
    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65536)

    server.answers["/"] = endless
    page = await fetcher(server.host).get(server.url("/"), limits=LIMITS)
    assert page.cut
    assert len(page.body) == LIMITS.body
    assert "the rest was not read" in shown(page, False).text


async def test_a_dripping_body_is_bounded_in_time(server):
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    server.answers["/"] = drip
    work = fetcher(server.host).get(server.url("/"), limits=Limits(seconds=1.0, body=10_000))
    assert (await refused(work)).kind == "timeout"


async def test_a_body_shorter_than_it_says_is_an_error(server):
    server.answers["/"] = (
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nshort"
    )
    error = await refused(fetcher(server.host).get(server.url("/"), limits=LIMITS))
    assert error.kind == "cut"
    server.answers["/cut"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"
    error = await refused(fetcher(server.host).get(server.url("/cut"), limits=LIMITS))
    assert error.kind == "cut"


async def test_garbage_and_silence_are_told_apart(server):
    server.answers["/garbage"] = b"SSH-2.0-OpenSSH_9\r\n\r\n"
    server.answers["/head"] = b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000
    server.answers["/gone"] = lambda connection: connection.close()
    kinds = [
        (await refused(fetcher(server.host).get(server.url(path), limits=LIMITS))).kind
        for path in ("/garbage", "/head", "/gone")
    ]
    assert kinds == ["protocol", "protocol", "cut"]


async def test_a_bomb_is_inflated_to_the_limit_and_no_further(server):
    bomb = gzip.compress(b"\0" * 50_000_000)
    server.page("/bomb", bomb, content_type="text/plain", content_encoding="gzip")
    page = await fetcher(server.host).get(server.url("/bomb"), limits=LIMITS)
    assert page.cut
    assert len(page.body) == LIMITS.body


async def test_compression_that_was_not_asked_for(server):
    server.page("/gz", gzip.compress(b"hello"), content_encoding="gzip")
    server.page("/z", zlib.compress(b"hello"), content_encoding="deflate")
    for path in ("/gz", "/z"):
        assert (await fetcher(server.host).get(server.url(path), limits=LIMITS)).body == b"hello"
    server.page("/lie", b"plain", content_encoding="gzip")
    server.page("/half", gzip.compress(b"hello" * 1000)[:-20], content_encoding="gzip")
    server.page("/br", b"x", content_encoding="br")
    kinds = [
        (await refused(fetcher(server.host).get(server.url(path), limits=LIMITS))).kind
        for path in ("/lie", "/half", "/br")
    ]
    assert kinds == ["protocol", "cut", "protocol"]


# --- what is shown -----------------------------------------------------------------------------


def answer(body: bytes, content_type: str, status: int = 200) -> Fetched:
    return Fetched(url="https://e.org/", status=status, content_type=content_type, body=body)


def test_charsets():
    cases = [
        ("é".encode(), "text/plain"),
        ("é".encode("latin-1"), "text/plain"),
        ("é".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
        ("é".encode("utf-16"), "text/plain; charset=latin-1"),
        ("é".encode(), "text/plain; charset=zlib_codec"),
        ("é".encode(), "text/plain; charset=unicode_escape"),
        (
            "é".encode("shift_jis", "ignore") + "日".encode("shift_jis"),
            "text/plain; charset=Shift_JIS",
        ),
        (b"<meta charset=windows-1252><p>" + "é".encode("cp1252"), "text/html"),
    ]
    for body, content_type in cases:
        text = shown(answer(body, content_type), False).text
        assert "é" in text or "日" in text, (body, content_type, text)


def test_types_and_statuses():
    assert shown(answer(b"\x89PNG", "image/png"), False).images[0].media_type == "image/png"
    assert '{"a": 1}' in shown(answer(b'{"a": 1}', "application/json"), False).text
    assert "hi" in shown(answer(b"<html><p>hi", ""), False).text
    raw = shown(answer(b"<p>hi</p>", "text/html"), True).text
    assert "<p>hi</p>" in raw
    for body, kind in [(b"%PDF", "application/pdf"), (b"\0\1", ""), (b"PK", "application/zip")]:
        with pytest.raises(ToolError, match="not text"):
            shown(answer(body, kind), False)
    missing = shown(answer(b"<h1>Not here</h1>", "text/html", 404), False)
    assert missing.kind == "http_status"
    assert "404" in missing.text
    assert "Not here" in missing.text


async def test_a_large_page_is_kept_as_an_artefact(opened, model, server, tmp_path):
    server.page("/", "line\n" * 50_000, content_type="text/plain")
    model.plays(calls("web_fetch", url=server.url("/")), says("ok"))
    async with opened("web_fetch", workspace=Workspace(tmp_path, allowed_hosts=[server.host])) as h:
        session = await h.session()
        await session.send("go")
        (end,) = await results(session)
    assert end.artefact is not None
    assert end.artefact in end.result
