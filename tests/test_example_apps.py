"""The larger examples, as their users run them, on the scripted model."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "BRIDLE_HOME": str(home / "b"), "PATH": os.environ["PATH"], **more}


def wait_for(condition: Any, process: subprocess.Popen[str], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_terminal_chat_asks_plans_and_works(tmp_path: Path) -> None:
    assert len((EXAMPLES / "chat" / "chat.py").read_text().splitlines()) < 80
    shutil.copy(EXAMPLES / "chat" / "script.yaml", tmp_path)
    said = "greet me\nhowdy\nhi\ny\ny\n"  # "howdy" is no option: it is asked again
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "chat" / "chat.py"), "--model", "scripted/script.yaml"],
        cwd=tmp_path,
        env=environment(tmp_path),
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "greeting.txt").read_text() == "hi\n"
    shown = done.stdout
    for line in (
        "Let me look around.",
        "> list_files",
        "Which greeting? [hello, hi]",
        "1. Write greeting.txt",
        "-- build",
        "run it? [y/a/n]",
        "| hi",
        "greeting.txt says hi.",
        "-- end_turn",
    ):
        assert line in shown, shown
        shown = shown[shown.index(line) :]  # in this order


SERVICE_SCRIPT = """
- calls: [{tool: read_file, args: {path: note.txt}}]
- calls: [{tool: write_file, args: {path: reply.txt, content: written}}]
- says: done
"""


@contextlib.contextmanager
def service(place: Path) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = place.parent / "script.yaml"
    script.write_text(SERVICE_SCRIPT)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "uvicorn",
            "service:app",
            "--port",
            str(port),
            "--log-level",
            "error",
        ],
        cwd=EXAMPLES / "service",
        env=environment(place.parent, TENANTS=str(place), MODEL=f"scripted/{script}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def listening() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    try:
        wait_for(listening, process)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def request(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, json.dumps(body) if body is not None else None)
    reply = connection.getresponse()
    found = json.loads(reply.read())
    connection.close()
    return reply.status, found


def read_events(port: int, tenant: str, until: str, after: int = 0) -> list[dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/{tenant}/events", headers={"Last-Event-ID": str(after)})
    reply = connection.getresponse()
    assert reply.getheader("content-type", "").startswith("text/event-stream")
    found: list[dict[str, Any]] = []
    while not found or found[-1]["type"] != until:
        line = reply.fp.readline()
        assert line
        if line.startswith(b"data: "):
            found.append(json.loads(line[6:]))
    connection.close()
    return found


def test_the_service_streams_events_and_keeps_tenants_apart(tmp_path: Path) -> None:
    place = tmp_path / "tenants"
    for tenant in ("ann", "bob"):
        (place / tenant / "files").mkdir(parents=True)
        (place / tenant / "files" / "note.txt").write_text(f"for {tenant}")
    with service(place) as port:
        for tenant in ("ann", "bob"):
            status, sent = request(port, "POST", f"/{tenant}/messages", {"text": "read it"})
            assert status == 202
            seen = read_events(port, tenant, "agent_paused")
            (read,) = [e for e in seen if e["type"] == "tool_end"]
            assert f"for {tenant}" in read["result"]
            (asked,) = [e for e in seen if e["type"] == "tool_approval_required"]
            last = max(e["seq"] for e in seen if e.get("seq"))
            status, shown = request(port, "GET", f"/{tenant}/display")
            assert [p["id"] for p in shown["pending"]] == [asked["approval_id"]]
            path = f"/{tenant}/answers/{asked['approval_id']}"
            assert request(port, "POST", path, {"approve": True})[1] == sent
            rest = read_events(port, tenant, "agent_end", after=last)
            assert min(e["seq"] for e in rest if e.get("seq")) == last + 1
            assert request(port, "POST", path, {"approve": True})[0] == 400  # once only
            assert (place / tenant / "files" / "reply.txt").read_text() == "written"
        assert request(port, "GET", "/a.b/display")[0] == 400


BOT_SCRIPT = """
- calls: [{tool: look_up, args: {topic: bees}}]
- says: they dance
"""


def test_the_bot_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    for writer in ("ann", "bob"):
        (tmp_path / "inbox" / writer).mkdir(parents=True)
        (tmp_path / "inbox" / writer / "1.txt").write_text("what of bees?")
    script = tmp_path / "script.yaml"
    script.write_text(BOT_SCRIPT)
    command = [sys.executable, str(EXAMPLES / "bot" / "bot.py"), str(tmp_path)]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, "--model", f"scripted/{script}"],
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def count(kind: str) -> int:
        try:
            with contextlib.closing(sqlite3.connect(tmp_path / "bot.db")) as db:
                query = "select count(*) from events where type = ?"
                return int(db.execute(query, (kind,)).fetchone()[0])
        except sqlite3.OperationalError:  # not made yet
            return 0

    first = start()
    wait_for(lambda: count("tool_start") == 2, first)
    first.kill()  # -9, in the middle of both runs
    first.communicate()
    outbox = tmp_path / "outbox"
    assert not list(outbox.rglob("*.txt"))
    assert count("agent_end") == 0
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "bees.txt").write_text("they dance")
    (tmp_path / "inbox" / "ann" / "2.txt").write_text("and then?")
    second = start()
    replies = [outbox / name for name in ("ann/1.txt", "bob/1.txt", "ann/2.txt")]
    try:
        wait_for(lambda: all(reply.exists() for reply in replies), second)
    finally:
        second.kill()
        second.communicate()
    assert {reply.read_text() for reply in replies} == {"they dance"}
    assert count("agent_start") == count("agent_end") == 3  # no run began twice
