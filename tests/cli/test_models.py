"""`bridle models` lists what servers on this machine have, and goes on when they do not answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.cli import Bridle

LISTS: dict[str, tuple[int, bytes]] = {
    "/ollama/v1/models": (200, json.dumps({"data": [{"id": "qwen3-coder:30b"}]}).encode()),
    "/vllm/v1/models": (200, json.dumps({"data": [{"id": "m", "max_model_len": 4096}]}).encode()),
    "/lm/v1/models": (200, b"<html>not a list</html>"),
}


class Lists(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = LISTS.get(self.path, (404, b"{}"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Lists)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_servers_on_this_machine_are_asked(tmp_path: Path, url: str) -> None:
    project = tmp_path / "p"
    project.mkdir()
    bridle = Bridle(project, tmp_path)
    bridle.env = {
        "OLLAMA_BASE_URL": f"{url}/ollama/v1",
        "VLLM_BASE_URL": f"{url}/vllm/v1",
        "LMSTUDIO_BASE_URL": f"{url}/lm/v1",
    }
    rows = {row["id"]: row for row in bridle("models", "--ready", "--json").json}
    assert rows["ollama/qwen3-coder:30b"]["price"]["input_per_million"] == 0
    assert rows["vllm/m"]["context_window"] == 4096
    assert not [name for name in rows if name.startswith("lmstudio/")]
    only = bridle("models", "--provider", "vllm", "--json").json
    assert [row["id"] for row in only] == ["vllm/m"]


def test_no_server_is_no_error(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    done = Bridle(project, tmp_path)("models", "--json")
    assert done.code == 0, done.err
    assert len(done.json) > 10
