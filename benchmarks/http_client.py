"""HTTP clients for model calls: cold start and cost per streamed request, as CPU time.

    python benchmarks/http_client.py [--requests 200] [--rounds 3] [--chunks 50]

Each client runs in a process of its own against one scripted server (another process) and reads
the same chat stream: POST, read the events, decode their JSON. CPU is user + system. Clients that
are not installed are left out. Ratios are against our client, raw.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BODY = json.dumps(
    {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
).encode()
CLIENTS = ("bare asyncio", "ours, raw", "ours, chat model", "aiohttp", "httpx", "httpx2")


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _decode(line: str | bytes) -> None:
    data = line.strip()
    if data.startswith(b"data: " if isinstance(data, bytes) else "data: ") and len(data) > 12:
        json.loads(data[6:])


async def ours_raw(url: str) -> Any:
    import msgspec

    from bridle.models.http import HttpClient
    from bridle.models.sse import SseParser

    client = HttpClient()
    headers = (("content-type", "application/json"),)

    async def once() -> None:
        response = await client.send("POST", url, headers=headers, body=BODY)
        parser = SseParser()
        while data := await response.receive():
            for event in parser.feed(data):
                if event.data != "[DONE]":
                    msgspec.json.decode(event.data)

    return once, client.aclose


async def ours_model(url: str) -> Any:
    from bridle.models.http import HttpClient
    from bridle.models.providers.openai_chat import OpenAIChat
    from bridle.ports.model import ModelRequest
    from bridle.types.messages import user_message

    client = HttpClient()
    model = OpenAIChat("m", http=client, base_url=url.removesuffix("/chat/completions"))
    request = ModelRequest(system="", messages=(user_message("1", "hi"),), tools=())

    async def once() -> None:
        async for _ in model.stream(request):
            pass

    return once, client.aclose


async def with_aiohttp(url: str) -> Any:
    import aiohttp

    session = aiohttp.ClientSession()

    async def once() -> None:
        async with session.post(url, data=BODY) as response:
            async for line in response.content:
                _decode(line)

    return once, session.close


async def with_httpx(url: str, module: str = "httpx") -> Any:
    import importlib

    client = importlib.import_module(module).AsyncClient()

    async def once() -> None:
        async with client.stream("POST", url, content=BODY) as response:
            async for line in response.aiter_lines():
                _decode(line)

    return once, client.aclose


async def bare_asyncio(url: str) -> Any:
    """The floor: no pool, no timeouts, no errors, chunk sizes ignored."""
    import asyncio

    port = int(url.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n\r\n"
    ).encode()

    async def once() -> None:
        writer.write(head + BODY)
        while True:
            line = await reader.readline()
            _decode(line)
            if line == b"0\r\n":
                await reader.readline()
                return

    async def close() -> None:
        writer.close()

    return once, close


def child(name: str, url: str, count: int) -> None:
    """Measure one client in this process; print its figures."""
    import asyncio

    async def main() -> None:
        makers = {
            "bare asyncio": bare_asyncio,
            "ours, raw": ours_raw,
            "ours, chat model": ours_model,
            "aiohttp": with_aiohttp,
            "httpx": with_httpx,
            "httpx2": lambda u: with_httpx(u, "httpx2"),
        }
        once, close = await makers[name](url)
        await once()
        cold = cpu()
        for _ in range(5):
            await once()
        start = cpu()
        for _ in range(count):
            await once()
        spent = (cpu() - start) / count
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        await close()
        print(json.dumps({"cold": cold * 1000, "request": spent * 1000, "rss": rss}))

    asyncio.run(main())


@contextlib.contextmanager
def server(script: list[Any]) -> Iterator[str]:
    """The scripted server as a process; gives the URL of its chat endpoint."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.json"
        path.write_text(json.dumps(script))
        command = [
            sys.executable,
            str(ROOT / "tests/support/wire_server.py"),
            "--script",
            str(path),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield f"http://127.0.0.1:{port}/v1/chat/completions"
        finally:
            process.terminate()
            process.wait(10)


def measure(name: str, url: str, count: int) -> dict[str, float] | None:
    """Run one client in a fresh interpreter; None when it is not installed."""
    command = [sys.executable, __file__, "--client", name, "--url", url, "--requests", str(count)]
    environ = {**os.environ, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr:
            return None
        raise SystemExit(done.stderr)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chunks", type=int, default=50)
    parser.add_argument("--client")
    parser.add_argument("--url")
    options = parser.parse_args()
    if options.client:
        child(options.client, options.url, options.requests)
        return
    best: dict[str, dict[str, float]] = {}
    answer = {"text": "word " * options.chunks, "chunks": options.chunks}
    with server([answer]) as url:
        for _ in range(options.rounds):
            for name in CLIENTS:
                figures = measure(name, url, options.requests)
                if figures is None:
                    continue
                old = best.setdefault(name, figures)
                best[name] = {key: min(old[key], figures[key]) for key in figures}
    base = best["ours, raw"]
    print(f"{options.chunks}-chunk chat stream, best of {options.rounds} rounds, CPU ms")
    print(f"{'client':<18}{'cold':>8}{'ratio':>7}{'request':>10}{'ratio':>7}{'RSS MB':>8}")
    for name in CLIENTS:
        if name not in best:
            print(f"{name:<18}  not installed")
            continue
        row = best[name]
        cold, request = row["cold"] / base["cold"], row["request"] / base["request"]
        print(
            f"{name:<18}{row['cold']:>8.0f}{cold:>7.2f}"
            f"{row['request']:>10.2f}{request:>7.2f}{row['rss']:>8.0f}"
        )


if __name__ == "__main__":
    main()
