"""A recorded run holds every request as a recipe: the bytes that were sent are built again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle import Agent, Harness, Limits, Mode, Rules, UserError, tool
from bridle.models.http import HttpClient
from bridle.runs.requests import heads_of, sent_requests
from bridle.types import events as ev
from support.wire_server import WireServer
from support.wires import WIRES, make

USAGE = {"input": 200, "output": 20, "cached": 150}
TALK: list[Any] = [
    {
        "thinking": "two sums",
        "text": "I add — ünïcode 🎉",
        "calls": [
            {"tool": "add", "args": {"a": 1, "b": 2}},
            {"tool": "add", "args": {"a": 3, "b": 4}},
        ],
        "usage": USAGE,
    },
    [{"status": 503, "message": "busy", "headers": {"retry-after": "0"}}, {"text": "3 and 7."}],
    {"text": "In another mode.", "usage": USAGE},
]


@tool(category="read", read_only=True, concurrency_safe=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def harness_of(model: Any, store: Path) -> Harness:
    agent: Agent[Any, Any] = Agent(instructions="Add.", tools=[add], name="adder")
    other: Agent[Any, Any] = Agent(instructions="Tell.", name="teller")
    return Harness(
        id="sums",
        store=f"sqlite:///{store}",
        modes=[Mode("add", agent=agent, default=True), Mode("tell", agent=other)],
        model=model.id,
        permissions=Rules(tools={"add": "allow"}),
        limits=Limits(max_tokens=50_000),  # so each request has a limit of its own
        resolve_model=lambda _: model,
    )


@pytest.mark.parametrize("wire", WIRES)
async def test_the_bytes_that_were_sent(wire: str, http: HttpClient, tmp_path: Path) -> None:
    store = tmp_path / "log.db"
    async with WireServer() as server:
        server.plays(*TALK)
        async with harness_of(make(wire, server.url, http), store) as harness:
            session = await harness.session()
            first = await session.send("1+2 and 3+4?")
            await session.modes.switch("tell")
            second = await session.send("Again?")
        assert (first.text, second.text) == ("3 and 7.", "In another mode."), (first, second)
        received = [request.body for request in server.requests]
        assert len(received) == 4  # one of them failed and was made again
        # Another process, with nothing but the log and a client that has sent nothing:
        anew = make(wire, server.url, http)
        async with harness_of(anew, store) as harness:
            sent = [
                *await harness.runs.requests(first.run_id),
                *await harness.runs.requests(second.run_id),
            ]
            stored = harness.store
            events = await stored.events(first.thread_id)
            names = heads_of(events, first.run_id)
            blobs = {name: await stored.blob(name) for name in names}
    assert [anew.body(one.request) for one in sent] == received
    assert len(set(received)) == 3

    # Controls: a log that was changed gives other bytes, or none.
    changed = [_with_other_result(event) for event in events]
    other = [anew.body(one.request) for one in sent_requests(changed, first.run_id, blobs)]
    assert other[0] == received[0]
    assert other[1] != received[1]
    with pytest.raises(UserError, match="missing"):
        list(sent_requests(events, first.run_id, {}))
    shorter = [e for e in events if not isinstance(e, ev.MessageEnded)]
    with pytest.raises(UserError, match="messages"):
        list(sent_requests(shorter, first.run_id, blobs))


def _with_other_result(event: ev.Event) -> ev.Event:
    import msgspec

    if isinstance(event, ev.ToolReturned):
        return msgspec.structs.replace(event, result="another")
    return event


@pytest.mark.parametrize("told", ["strict-json", "prompt"])
async def test_tools_that_were_told_in_the_prompt(
    told: str, http: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRIDLE_HOME", str(tmp_path / "home"))
    (tmp_path / "notes.txt").write_text("three small words")
    written = '{"tool": "read_file", "args": {"path": "notes.txt"}}'
    call = (
        written
        if told == "strict-json"
        else (
            '<tool_call>\n{"name": "read_file", "arguments": {"path": "notes.txt"}}\n</tool_call>'
        )
    )
    async with WireServer() as server:
        server.plays({"text": call}, {"text": "Three."})
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        spec = tmp_path / "harness.yaml"
        spec.write_text(
            "version: 1\nname: told\nmodel_policy:\n  primary: openai/gpt-4o-mini\n"
            f"  tool_call_format: {told}\n"
        )
        async with Harness.from_spec(spec) as harness:
            session = await harness.session()
            done = await session.send("count")
            sent = await harness.runs.requests(done.run_id)
        assert done.text == "Three."
        received = [request.body for request in server.requests]
    assert len(received) == 2
    assert b'"tools"' not in received[0]
    anew = make("chat", server.url, http, "gpt-4o-mini")
    assert [anew.body(one.request) for one in sent] == received
