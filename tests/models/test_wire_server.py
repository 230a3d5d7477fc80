"""The scripted server as a process, as black-box suites use it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SERVER = Path(__file__).resolve().parent.parent / "support" / "wire_server.py"
SCRIPT = """
- thinks: ignored
  calls: [{tool: read_file, args: {path: a.txt}}]
- - {status: 503, message: busy, headers: {Retry-After: 1}}
  - {text: "done at last"}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    script, log = tmp_path / "script.yaml", tmp_path / "log.jsonl"
    script.write_text(SCRIPT)
    command = [sys.executable, str(SERVER), "--script", str(script), "--log", str(log)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1/chat/completions", log
    finally:
        process.terminate()
        process.communicate(timeout=10)


def post(url: str, answers: int) -> tuple[int, str]:
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    messages += [{"role": "assistant", "content": "x"}] * answers
    body = json.dumps({"messages": messages}).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, body)) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_answers_are_chosen_by_what_the_request_holds(server: tuple[str, Path]) -> None:
    url, log = server
    for _ in range(2):
        status, body = post(url, 0)
        assert status == 200
        assert "read_file" in body
        assert body.endswith("data: [DONE]\n\n")
    assert post(url, 1)[0] == 503
    assert "done" in post(url, 1)[1]
    status, body = post(url, 2)
    assert status == 400
    assert "script has ended" in body
    assert len(log.read_text().splitlines()) == 5
