"""A loopback model server with real sockets, for tests and as a process of its own.

In a test:

    async with WireServer() as server:
        server.plays({"text": "hi"}, {"calls": [{"tool": "add", "args": {"a": 1}}]})
        ...                                   # server.url, server.requests, server.disconnects

As a process: `python tests/support/wire_server.py --script FILE --port 0 [--log FILE]` prints its
port. FILE is a JSON or YAML list, one item per model answer, chosen by the number of answers
that the request already holds, so it is stateless. An item has `text`, `thinking`, `calls: [{tool,
args}]`, `chunks`, `stop`, `usage`; or `status` with `message` and `headers`; or `raw` (the body
as it is); and to be hostile: `cut: N` / `stall: N` (after N frames), `delay` (seconds between
frames), `content_type`. An item that is a list holds one entry per attempt; its last one repeats.
All four wire formats are served, told apart by the path.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import wire_formats

CUT = "cut"
STALL = "stall"
Frame = bytes | float | str
"""Bytes to send, seconds to wait, or CUT / STALL."""


@dataclass
class Received:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    """What to answer: a status and frames. `framing` is chunked, length, or close."""

    frames: Sequence[Frame] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str | None = "text/event-stream"
    framing: str = "chunked"
    head: bytes | None = None
    """Sent instead of a status line and headers."""


Handler = Callable[[Received], Reply]


class WireServer:
    """Serves one handler; by default the script given to `plays`."""

    def __init__(self, handler: Handler | None = None, *, ssl: Any = None, port: int = 0) -> None:
        self.handler: Handler = handler or self._scripted
        self.requests: list[Received] = []
        self.connections = 0
        self.disconnects = 0
        self._script: list[Any] = []
        self._attempts: Counter[int] = Counter()
        self._ssl = ssl
        self.port = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.gone = asyncio.Event()

    def plays(self, *items: Any) -> None:
        """Set the script."""
        self._script = list(items)
        self._attempts.clear()

    def replies(self, *frames: Frame, **options: Any) -> None:
        """Answer every request with these frames."""
        reply = Reply(frames, **options)
        self.handler = lambda _: reply

    @property
    def url(self) -> str:
        return f"{'https' if self._ssl else 'http'}://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        """How many connections are open."""
        return len(self._tasks)

    @property
    def bodies(self) -> list[Any]:
        return [request.json for request in self.requests]

    async def __aenter__(self) -> WireServer:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self._ssl, limit=2**26
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await asyncio.sleep(0)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for _ in range(3):  # aborted transports are closed in later rounds of the loop
            await asyncio.sleep(0)

    def _scripted(self, request: Received) -> Reply:
        wire = wire_formats.format_of(request.path.partition("?")[0])
        ordinal = wire_formats.answered(wire, request.json)
        if ordinal >= len(self._script):
            return reply_of({"status": 400, "message": "the script has ended"}, wire, ordinal)
        item = self._script[ordinal]
        if isinstance(item, list):
            attempt = self._attempts[ordinal]
            self._attempts[ordinal] += 1
            item = item[min(attempt, len(item) - 1)]
        return reply_of(item, wire, ordinal)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                reply = self.handler(request)
                if not await self._answer(reply, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            self._lost()
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    def _lost(self) -> None:
        self.disconnects += 1
        self.gone.set()

    async def _answer(
        self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Write a reply; False when the connection is over."""
        chunked = reply.framing == "chunked"
        writer.write(reply.head if reply.head is not None else _head(reply))
        for frame in reply.frames:
            if isinstance(frame, bytes):
                if frame:
                    writer.write(b"%x\r\n%b\r\n" % (len(frame), frame) if chunked else frame)
                    await writer.drain()
            elif isinstance(frame, float | int):
                await asyncio.sleep(frame)
            elif frame == CUT:
                await writer.drain()
                writer.close()
                return False
            elif frame == STALL:
                await writer.drain()
                await reader.read(1)
                self._lost()
                return False
        if chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        if reply.framing == "close":
            writer.close()
        return reply.framing != "close"


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, body)


def _head(reply: Reply) -> bytes:
    headers = dict(reply.headers)
    if reply.content_type:
        headers.setdefault("Content-Type", reply.content_type)
    if reply.framing == "chunked":
        headers["Transfer-Encoding"] = "chunked"
    elif reply.framing == "length":
        size = sum(len(frame) for frame in reply.frames if isinstance(frame, bytes))
        headers.setdefault("Content-Length", str(size))
    else:
        headers["Connection"] = "close"
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def reply_of(item: dict[str, Any], wire: str, ordinal: int = 0) -> Reply:
    """The reply that a script's item describes."""
    headers = {str(k): str(v) for k, v in item.get("headers", {}).items()}
    if "raw" in item:
        raw = item["raw"].encode() if isinstance(item["raw"], str) else item["raw"]
        kind = item.get("content_type", "text/event-stream")
        return Reply([raw], item.get("status", 200), headers, kind, "length")
    if "status" in item:
        status = int(item["status"])
        message = item.get("message", f"scripted failure {status}")
        body = item.get("body")
        text = wire_formats.error_body(wire, status, message)
        if body is not None:
            text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        kind = item.get("content_type", "application/json")
        return Reply([text], status, headers, kind, "length")
    frames: list[Frame] = []
    for frame in wire_formats.FORMATS[wire]({"n": ordinal, **item}):
        if item.get("delay") and frames:
            frames.append(float(item["delay"]))
        frames.append(frame)
    for what in (CUT, STALL):
        if what in item:
            frames = [*frames[: int(item[what])], what]
    return Reply(
        frames, headers=headers, content_type=item.get("content_type", "text/event-stream")
    )


@contextlib.asynccontextmanager
async def serving(*items: Any) -> AsyncIterator[WireServer]:
    """A server that plays a script."""
    async with WireServer() as server:
        server.plays(*items)
        yield server


def load_script(path: Path) -> list[Any]:
    """Read a JSON or YAML list."""
    text = path.read_text()
    if path.suffix == ".json":
        script = json.loads(text)
    else:
        import yaml

        script = yaml.safe_load(text)
    if not isinstance(script, list):
        raise SystemExit(f"{path}: expected a list of answers")
    return script


async def _main(script: list[Any], port: int, log: Path | None) -> None:
    server = WireServer(port=port)
    server.plays(*script)
    play = server.handler

    def logged(request: Received) -> Reply:
        if log is not None:
            entry = {"path": request.path, "headers": request.headers, "body": request.json}
            with log.open("a") as file:
                file.write(json.dumps(entry) + "\n")
        return play(request)

    server.handler = logged
    async with server:
        print(server.port, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model server on loopback.")
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="append each request as a line of JSON")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(load_script(options.script), options.port, options.log))


if __name__ == "__main__":
    main()
