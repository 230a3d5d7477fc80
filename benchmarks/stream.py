"""CPU of a streamed reply of 200 chunks: a whole durable run, beside a bare reader of the stream.

A loopback server writes 200 chunks, each in a write of its own: a millisecond apart, so that each
is read alone as from a real provider, or as fast as it can, so that many are read at once. The
bare reader is the standard library's HTTP client and JSON.
"""

from __future__ import annotations

import http.client
import json

import anyio
from common import cpu, scratch, serving, table, verdict
from loops import chat

from bridle import Agent, Harness
from bridle.ports.model import Model
from bridle.testing import ScriptedModel, says, slow
from bridle.types.events import AnyEvent, MessageDelta

CHUNKS = 200
TEXT = "All the words. " * CHUNKS
REPEAT = 9
TARGET = 20.0


async def replies(models: list[Model]) -> list[float]:
    """Milliseconds of CPU for each reply, after one that warms up."""
    heard: list[AnyEvent] = []
    costs: list[float] = []
    with scratch() as directory:
        waiting = iter(models)
        harness = Harness(
            agent=Agent("Answer at length."),
            model="any/model",
            store=f"sqlite:///{directory / 'b.db'}",
            resolve_model=lambda _: next(waiting),
        )
        async with harness:
            for model in models:
                session = await harness.session(new=True)
                session.events.subscribe(heard.append)
                before = cpu()
                result = await session.send("Say much.")
                costs.append((cpu() - before) * 1000)
                assert result.text == TEXT, (model.id, result)
                deltas = sum(isinstance(event, MessageDelta) for event in heard)
                assert deltas <= CHUNKS, deltas
                heard.clear()
    return costs[1:]


def ours(models: list[Model]) -> float:
    return min(anyio.run(replies, models))


def bare(port: int) -> float:
    """Read the stream and join its text."""
    link = http.client.HTTPConnection("127.0.0.1", port)
    costs = []
    for _ in range(REPEAT + 1):
        before = cpu()
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Say much."}]})
        link.request("POST", "/v1/chat/completions", body)
        text = ""
        for line in link.getresponse():
            if line.startswith(b"data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    text += choice["delta"].get("content", "")
        costs.append((cpu() - before) * 1000)
        assert text == TEXT
    return min(costs[1:])


def wire(chunks: int, delay: float = 0.0) -> tuple[float, float]:
    with serving([{"text": TEXT, "chunks": chunks, "delay": delay}]) as server:
        shared = chat(server.url)
        return ours([shared] * (REPEAT + 1)), bare(server.port)


def script(chunks: int) -> list[Model]:
    item = [slow(chunks, 0.0), says(TEXT)]
    return [ScriptedModel([item], id="scripted/long") for _ in range(REPEAT + 1)]


def main() -> None:
    rows: list[list[object]] = []
    for name, chunks, delay in (
        ("over HTTP, 1 ms apart", CHUNKS, 0.001),
        ("over HTTP, at once", CHUNKS, 0.0),
        ("over HTTP, one chunk", 1, 0.0),
    ):
        mine, floor = wire(chunks, delay)
        rows.append([name, mine, floor, mine / floor, verdict(mine, TARGET)])
    scripted = ours(script(CHUNKS))
    rows.append(["scripted model", scripted, "", "", verdict(scripted, TARGET)])
    heads = [
        f"CPU ms of {CHUNKS} chunks",
        "ours",
        "bare reader",
        "ratio",
        f"target ≤ {TARGET:g} ms",
    ]
    table(f"One streamed reply, a whole durable run, least of {REPEAT}", heads, rows)


if __name__ == "__main__":
    main()
