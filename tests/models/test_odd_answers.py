"""Answers that a provider, or a proxy before it, may give although nobody asked for them so."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from bridle import Agent, Harness, Rules, tool
from bridle.errors import ModelError
from bridle.models.http import HttpClient
from support.collect import collect
from support.kernel import check_log
from support.wire_server import WireServer, serving
from support.wires import WIRES, ask, frames, make

TAKEN: list[str] = []


@tool(category="read", read_only=True)
async def take(what: str = "everything") -> str:
    """Take something."""
    TAKEN.append(what)
    return f"took {what}"


def harness_of(wire: str, server: WireServer, http: HttpClient) -> Harness:
    TAKEN.clear()
    return Harness(
        store="memory:",
        agent=Agent("You take.", tools=[take]),
        model="x/y",
        permissions=Rules(tools={"take": "allow"}),
        resolve_model=lambda _: make(wire, server.url, http),
    )


async def sent(harness: Harness) -> Any:
    """Send one input; the log must hold what it always does."""
    async with harness:
        session = await harness.session()
        result = await session.send("go")
        check_log(await harness.store.events(session.thread_id))
        return result


PACKINGS = {"gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("packing", PACKINGS)
async def test_a_packed_answer_is_read(wire: str, packing: str, http: HttpClient) -> None:
    packed = PACKINGS[packing](b"".join(frames(wire, {"text": "hello"})))
    async with WireServer() as server:
        pieces = [packed[at : at + 7] for at in range(0, len(packed), 7)]
        server.replies(*pieces, headers={"Content-Encoding": packing})
        answer = await collect(make(wire, server.url, http), ask())
        assert answer.text == "hello"
        assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_a_packed_refusal_keeps_its_words(http: HttpClient) -> None:
    body = gzip.compress(b'{"error": {"message": "no such key"}}')
    async with WireServer() as server:
        server.replies(body, status=401, headers={"Content-Encoding": "gzip"})
        with pytest.raises(ModelError, match="no such key") as caught:
            await collect(make("chat", server.url, http), ask())
    assert caught.value.kind == "authentication"


@pytest.mark.parametrize(
    ("packing", "said"), [("br", "packed as br"), ("gzip", "The answer is not gzip")]
)
async def test_what_cannot_be_unpacked_is_said(packing: str, said: str, http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(b"\x01\x02\x03", headers={"Content-Encoding": packing})
        with pytest.raises(ModelError, match=said) as caught:
            await collect(make("chat", server.url, http), ask())
    assert caught.value.kind == "protocol"


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
async def test_calls_with_one_id_between_them_are_told_apart(wire: str, http: HttpClient) -> None:
    """A provider refuses a history in which two calls, or two results, have the same id."""
    two = [{"tool": "take", "args": {"what": name}, "id": "same"} for name in ("this", "that")]
    async with serving({"calls": two}, {"text": "done"}) as server:
        result = await sent(harness_of(wire, server, http))
        assert (result.text, TAKEN) == ("done", ["this", "that"])
        history = server.bodies[1]["input" if wire == "responses" else "messages"]
    assert called(history) == answered(history)
    assert len({*called(history)}) == 2
    assert called(history)[0] == "same"


def called(history: list[Any]) -> list[str]:
    """The ids of the calls in a history of any wire."""
    blocks = [block for entry in history for block in [entry, *_inside(entry)]]
    found = [call["id"] for block in blocks for call in block.get("tool_calls", ())]
    found += [block["id"] for block in blocks if block.get("type") == "tool_use"]
    return found + [b["call_id"] for b in blocks if b.get("type") == "function_call"]


def answered(history: list[Any]) -> list[str]:
    """The ids that the results name."""
    blocks = [block for entry in history for block in [entry, *_inside(entry)]]
    found = [block["tool_call_id"] for block in blocks if block.get("role") == "tool"]
    found += [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
    return found + [b["call_id"] for b in blocks if b.get("type") == "function_call_output"]


def _inside(entry: Any) -> list[Any]:
    return entry["content"] if isinstance(entry.get("content"), list) else []


@pytest.mark.parametrize(("wire", "limit"), [("chat", "length"), ("anthropic", "max_tokens")])
@pytest.mark.parametrize("args", ["", '{"what":'])
async def test_a_call_cut_before_its_arguments_is_not_run(
    wire: str, limit: str, args: str, http: HttpClient
) -> None:
    """With no arguments at all, it would be taken for a call that needs none."""
    cut = {"calls": [{"tool": "take", "args": args}], "stop": limit}
    whole = {"calls": [{"tool": "take", "args": {"what": "this"}}], "stop": limit}
    async with serving(cut, whole, {"text": "done"}) as server:
        result = await sent(harness_of(wire, server, http))
        assert (result.text, TAKEN) == ("done", ["this"])


async def test_an_answer_that_rests_goes_on(http: HttpClient) -> None:
    rests = {"text": "half of it", "stop": "pause_turn"}
    async with serving(rests, {"text": "the rest"}) as server:
        result = await sent(harness_of("anthropic", server, http))
        assert (result.text, result.reason, result.steps) == ("the rest", "end_turn", 2)
        assert [entry["role"] for entry in server.bodies[1]["messages"]] == ["user", "assistant"]


@pytest.mark.parametrize("wire", WIRES)
async def test_usage_below_nothing_is_not_believed(wire: str, http: HttpClient) -> None:
    """It would be paid back to the budget."""
    told = {"text": "hi", "usage": {"input": -1000, "output": -1000}}
    async with serving(told) as server:
        result = await sent(harness_of(wire, server, http))
    assert result.text == "hi"
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens > 0
    assert result.cost_usd >= 0
