"""A browser ends with its run, with the harness, and with a killed process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
import pytest

from bridle import Rules, Workspace
from bridle.sandbox import probe, temps
from bridle.testing import calls, says
from bridle.tools.browser.launch import PROGRAMS
from support.calls import results

CHROMIUM = next((name for name in PROGRAMS if shutil.which(name)), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium: scripts/install-system --browser installs it"
)
needs_bubblewrap = pytest.mark.skipif(
    not probe.bubblewrap().available, reason="needs bubblewrap: scripts/install-system"
)
SANDBOXES = [pytest.param("bubblewrap", marks=needs_bubblewrap), "none"]
BEATS = "<h1>beats</h1><script>setInterval(()=>fetch('/beat'),100)</script>"

PROGRAM = """
import sys
import anyio
from bridle import Agent, Harness, Workspace
from bridle.testing import ScriptedModel, calls

url, host, sandbox, work, database = sys.argv[1:]

async def main():
    model = ScriptedModel([calls("navigate", url=url), calls("bash", command="sleep 600")])
    harness = Harness(
        id="h", store=f"sqlite:///{database}", agent=Agent("x", tools=["navigate"]),
        workspace=Workspace(work, sandbox=sandbox, allowed_hosts=[host]),
        resolve_model=lambda _id: model,
    )
    async with harness:
        await (await harness.session()).send("go")
        await anyio.sleep(600)

anyio.run(main)
"""


def holding(mark: str) -> list[str]:
    """The processes whose command line holds a text."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in line:
            found.append(f"{place.parent.name}: {line[:200]}")
    return found


@needs_chromium
@pytest.mark.chromium
@pytest.mark.anyio
async def test_it_ends_with_its_run(opened, model, server, tmp_path):
    server.page("/", BEATS)
    workspace = Workspace(tmp_path, sandbox="none", allowed_hosts=[server.host])
    model.plays(calls("navigate", url=server.url("/")), calls("ask_user", question="go on?"))
    async with opened("navigate", "extract", workspace=workspace) as harness:
        session = await harness.session()
        first = await session.send("go")
        with temps.directory() as beside:
            own = Path(beside).parent
        mark = f"chromium-{own.name}"
        assert holding(mark), "it runs while its run waits for an answer"
        model.plays(says("done"))
        await session.answer(first.pending[0].id, "yes")
        await session.wait(first.run_id)
        with anyio.fail_after(30):
            while holding(mark) or [*own.glob("*/chromium-*")]:
                await anyio.sleep(0.1)
        model.plays(calls("extract"), says("done"))
        await session.send("again")
        assert (await results(session, runs=2))[-1].kind == "no_page"


@needs_chromium
@pytest.mark.chromium
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_none_survives_a_kill(tmp_path, server, sandbox):
    server.page("/", BEATS)
    server.page("/beat", "")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "work").mkdir()
    temp = Path(tempfile.mkdtemp(prefix="b-", dir="/tmp"))  # its path must be short for a socket
    argv = [sys.executable, program, server.url("/"), server.host, sandbox]
    env = {**os.environ, "BRIDLE_HOME": str(tmp_path / "b"), "TMPDIR": str(temp)}
    process = subprocess.Popen(
        [*argv, tmp_path / "work", tmp_path / "s.db"], env=env, stderr=subprocess.PIPE
    )
    end = time.monotonic() + 60
    try:
        while sum("/beat" in line for line in server.requests) < 3:
            assert time.monotonic() < end
            assert process.poll() is None, process.communicate()[1].decode()
            time.sleep(0.1)
        (own,) = temp.glob("bridle-*/*")
        assert holding(f"chromium-{own.name}"), "it runs before the kill"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    end = time.monotonic() + 30
    while left := holding(f"chromium-{own.name}"):
        assert time.monotonic() < end, left
        time.sleep(0.1)
    shutil.rmtree(temp)


@pytest.mark.anyio
async def test_without_chromium_the_answer_says_what_to_install(
    opened, model, tmp_path, monkeypatch
):
    monkeypatch.setenv("BRIDLE_CHROMIUM", str(tmp_path / "nothing"))
    model.plays(calls("navigate", url="https://example.org/"), says("ok"))
    workspace = Workspace(tmp_path, sandbox="none")
    async with opened("navigate", workspace=workspace, permissions=Rules(yolo=True)) as harness:
        session = await harness.session()
        await session.send("go")
        (end,) = await results(session)
    assert end.kind == "not_installed"
    assert "apt install chromium" in end.result
    assert "scripts/install-system --browser" in end.result


@pytest.mark.anyio
async def test_a_program_that_is_no_chromium_is_told(opened, model, tmp_path, monkeypatch):
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\necho cannot open display >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("BRIDLE_CHROMIUM", str(fake))
    model.plays(calls("navigate", url="https://example.org/"), says("ok"))
    workspace = Workspace(tmp_path, sandbox="none")
    async with opened("navigate", workspace=workspace, permissions=Rules(yolo=True)) as harness:
        session = await harness.session()
        await session.send("go")
        (end,) = await results(session)
    assert end.kind == "browser"
    assert "cannot open display" in end.result


@pytest.mark.anyio
@pytest.mark.skipif(not probe.landlock().available, reason="needs Landlock")
async def test_a_sandbox_that_cannot_hold_it_to_hosts_is_refused(opened, model, tmp_path):
    model.plays(calls("navigate", url="https://example.org/"), says("ok"))
    workspace = Workspace(tmp_path, sandbox="landlock")
    async with opened("navigate", workspace=workspace, permissions=Rules(yolo=True)) as harness:
        session = await harness.session()
        await session.send("go")
        (end,) = await results(session)
    assert end.kind in ("not_confined", "not_installed")
    assert "bubblewrap" in end.result or CHROMIUM is None
