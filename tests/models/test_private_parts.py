"""What only one provider understands goes back to it, and to no other that takes over."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from bridle import Agent, Harness, Rules, tool
from bridle.models.http import HttpClient
from support.wire_server import WireServer
from support.wires import WIRES, make

SEALED = b"sealed=="
"""The signature, encrypted reasoning or thought signature of the loopback server."""
FIRST = {
    "thinking": "a sum",
    "text": "I add.",
    "calls": [{"tool": "add", "args": {"a": 1, "b": 2}}],
}
SEALS = ("responses", "anthropic", "gemini")


@tool(category="read", read_only=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def bodies(one: str, other: str, second: Any, http: HttpClient) -> list[bytes]:
    """What a run sends whose first model is `one` and whose fallback is `other`."""
    async with WireServer() as server:
        server.plays(FIRST, second)
        models = {"one/x": make(one, server.url, http), "other/y": make(other, server.url, http)}
        harness = Harness(
            store="memory:",
            agent=Agent(instructions="Add.", tools=[add], model="one/x"),
            fallbacks=["other/y"],
            permissions=Rules(tools={"add": "allow"}),
            resolve_model=models.__getitem__,
        )
        async with harness:
            result = await (await harness.session()).send("1+2?")
        assert result.text == "Three.", result.error
        return [request.body for request in server.requests]


@pytest.mark.parametrize(
    ("one", "other"), [(a, b) for a, b in permutations(WIRES, 2) if a in SEALS], ids=str
)
async def test_another_provider_is_not_sent_them(one: str, other: str, http: HttpClient) -> None:
    second = [{"status": 401, "message": "no more"}, {"text": "Three."}]
    _, refused, taken_over = await bodies(one, other, second, http)
    assert SEALED in refused  # its own come back to it
    assert SEALED not in taken_over
    assert b"I add." in taken_over  # what all understand does
    assert b'"add"' in taken_over


@pytest.mark.parametrize("wire", SEALS)
async def test_the_same_provider_is(wire: str, http: HttpClient) -> None:
    _, second = await bodies(wire, wire, {"text": "Three."}, http)
    assert SEALED in second
