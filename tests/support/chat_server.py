"""A scripted model server in a process of its own, for tests of the executable."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SERVER = Path(__file__).parent / "wire_server.py"


class ChatServer:
    """A scripted OpenAI-compatible server in a process of its own."""

    def __init__(self, directory: Path, script: list[Any]) -> None:
        self.log = directory / "requests.jsonl"
        file = directory / "script.json"
        file.write_text(json.dumps(script))
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), "--script", str(file), "--log", str(self.log)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    @property
    def env(self) -> dict[str, str]:
        url = f"http://127.0.0.1:{self.port}/v1"
        return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"}

    @property
    def requests(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture
def chat_server(tmp_path: Path) -> Iterator[Callable[[list[Any]], ChatServer]]:
    started: list[ChatServer] = []

    def start(script: list[Any]) -> ChatServer:
        directory = tmp_path / f"server{len(started)}"
        directory.mkdir()
        started.append(ChatServer(directory, script))
        return started[-1]

    yield start
    for server in started:
        server.stop()
