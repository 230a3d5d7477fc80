from __future__ import annotations

import base64
import shutil
import struct

import pytest

from bridle import Rules, Workspace
from bridle.sandbox import probe
from bridle.testing import calls, says
from bridle.tools.browser.launch import PROGRAMS
from support.calls import results
from support.hostile import HostileServer

CHROMIUM = next((name for name in PROGRAMS if shutil.which(name)), None)
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.chromium,
    pytest.mark.skipif(
        CHROMIUM is None, reason="needs Chromium: scripts/install-system --browser installs it"
    ),
]
needs_bubblewrap = pytest.mark.skipif(
    not probe.bubblewrap().available, reason="needs bubblewrap: scripts/install-system"
)
SANDBOXES = [pytest.param("bubblewrap", marks=needs_bubblewrap), "none"]
TOOLS = ("navigate", "screenshot", "extract")
PAGE = """<!doctype html><title>Shop</title><h1>Prices</h1><p id=late>waiting</p>
<ul><li class=item>Apple <b>1</b><li class=item>Pear <b>2</b></ul>
<div style="width:300px;height:120px;background:#0a0" id=box></div>
<div style="height:3000px"></div>
<script>document.getElementById('late').textContent = 'made by script ' + (40 + 2)</script>"""


async def played(opened, model, workspace, *items, **options):
    model.plays(*items, says("ok"))
    async with opened(*TOOLS, workspace=workspace, **options) as harness:
        session = await harness.session()
        await session.send("go")
        return await results(session)


def size_of(image) -> tuple[int, int]:
    data = base64.b64decode(image.data)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_a_page_is_opened_shown_and_read(opened, model, server, tmp_path, sandbox):
    server.page("/", PAGE)
    opens, shows, element, whole, items, missing, wrong = await played(
        opened,
        model,
        Workspace(tmp_path, sandbox=sandbox, allowed_hosts=[server.host]),
        calls("navigate", url=server.url("/")),
        calls("screenshot"),
        calls("screenshot", selector="#box"),
        calls("screenshot", full_page=True),
        calls("extract", selector=".item"),
        calls("extract", selector=".none"),
        calls("extract", selector="p["),
    )
    assert not opens.is_error, opens.result
    assert "(200)\nTitle: Shop" in opens.result
    assert "made by script 42" in opens.result
    assert size_of(shows.images[0]) == (1280, 800) or size_of(shows.images[0])[0] == 1280
    assert size_of(element.images[0]) == (300, 120)
    assert size_of(whole.images[0])[1] > 3000
    assert items.result.endswith("- Apple 1\n\n- Pear 2")
    assert missing.kind == "no_match"
    assert wrong.kind == "invalid_selector"


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_only_allowed_hosts_are_reached(opened, model, server, tmp_path, sandbox):
    """By a redirect, a frame, a picture, a script and a form of fetch; the control is the page."""
    with HostileServer() as other:
        other.page("/x", "other")
        url = other.url("/x")
        server.page(
            "/",
            f"<h1>Page</h1><iframe src='{url}?frame'></iframe><img src='{url}?img'>"
            f"<script>fetch('{url}?fetch',{{mode:'no-cors'}})</script>"
            "<script src='/own.js'></script>",
        )
        server.page("/own.js", "document.title='own script'", content_type="text/javascript")
        server.redirect("/away", f"{url}?redirect")
        opens, away = await played(
            opened,
            model,
            Workspace(tmp_path, sandbox=sandbox, allowed_hosts=[server.host]),
            calls("navigate", url=server.url("/")),
            calls("navigate", url=server.url("/away")),
        )
        assert "Title: own script" in opens.result
        assert f"not allowed: {other.host}" in opens.result
        assert other.host in away.result
        assert other.requests == []
    assert len(server.requests) >= 3


async def test_hosts_are_decided_at_the_gate(opened, model, tmp_path):
    model.plays(calls("navigate", url="https://shop.example.org/"), says("ok"))
    async with opened(*TOOLS, workspace=Workspace(tmp_path, sandbox="none")) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.pending[0].card["hosts"] == ["shop.example.org"]
        await session.decline(result.pending[0].id)
        await session.wait(result.run_id)


async def test_this_machine_is_refused_unless_it_is_named(opened, model, server, tmp_path):
    server.page("/", "inside")
    (end,) = await played(
        opened,
        model,
        Workspace(tmp_path, sandbox="none"),
        calls("navigate", url=server.url("/")),
        permissions=Rules(yolo=True),
    )
    assert end.is_error or "not allowed" in end.result
    assert server.requests == []


async def test_pages_that_misbehave(opened, model, server, tmp_path):
    server.page("/loop", "<h1>x</h1><script>while(true){}</script>")
    server.page("/alert", "<h1>talks</h1><script>alert(1);confirm(2)</script><p>after</p>")
    server.page("/file", "<h1>file</h1><script>location='file:///etc/passwd'</script>")
    server.page("/lies", "<h1>lies</h1><script>document.querySelectorAll=()=>[];</script>")
    server.answers["/gone"] = lambda connection: connection.close()
    none, alert, file, lies, gone, loop, again = await played(
        opened,
        model,
        Workspace(tmp_path, sandbox="none", allowed_hosts=[server.host]),
        calls("extract"),
        calls("navigate", url=server.url("/alert")),
        calls("navigate", url=server.url("/file")),
        calls("navigate", url=server.url("/lies")),
        calls("navigate", url=server.url("/gone")),
        calls("navigate", url=server.url("/loop"), timeout=2),
        calls("navigate", url=server.url("/lies")),
    )
    assert none.kind == "no_page"
    assert "after" in alert.result
    assert "root:" not in file.result
    assert "# lies" in lies.result
    assert gone.is_error
    assert loop.kind == "timeout"
    assert "# lies" in again.result
