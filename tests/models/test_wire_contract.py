"""What holds on every wire format."""

from __future__ import annotations

import itertools
import json
from typing import Any

import anyio
import pytest

from bridle.errors import ModelError
from bridle.models.http import HttpClient, Timeouts
from bridle.ports.model import CallStart, ModelSettings
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from bridle.types.usage import Usage
from support.collect import Answer, collect
from support.wire_server import STALL, WireServer, serving
from support.wires import ADD, KEY, NAMES, PROVIDERS, WIRES, ask, error_frame, frames, holds, make

FULL = {
    "thinking": "first I think",
    "text": "then I speak — ünïcode 🎉",
    "calls": [{"tool": "add", "args": {"a": 1, "b": 2}}, {"tool": "add", "args": {"a": 3, "b": 4}}],
    "usage": {"input": 100, "output": 40, "cached": 60, "reasoning": 10},
    "chunks": 4,
}

pytestmark = pytest.mark.parametrize("wire", WIRES)


async def test_an_answer_is_streamed_whole(wire: str, http: HttpClient) -> None:
    async with serving(FULL) as server:
        answer = await collect(make(wire, server.url, http), ask())
    assert answer.thinking == FULL["thinking"]
    assert answer.text == FULL["text"]
    assert [(tool, json.loads(args)) for tool, args in answer.calls] == [
        ("add", {"a": 1, "b": 2}),
        ("add", {"a": 3, "b": 4}),
    ]
    assert answer.finish.stop == "tool_use"
    assert answer.finish.model == "served-model"
    usage = answer.finish.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (100, 40, 60)
    assert usage.reasoning_tokens == (0 if wire == "anthropic" else 10)


async def test_plain_text_ends_the_turn(wire: str, http: HttpClient) -> None:
    async with serving({"text": "hello"}) as server:
        answer = await collect(make(wire, server.url, http), ask())
    assert answer.text == "hello"
    assert answer.finish.stop == "end_turn"


@pytest.mark.parametrize(
    ("stops", "reason"),
    [
        (("length", "max_output_tokens", "max_tokens", "MAX_TOKENS"), "max_tokens"),
        (("content_filter", "content_filter", "refusal", "SAFETY"), "refused"),
    ],
)
async def test_stop_reasons_are_mapped(
    wire: str, http: HttpClient, stops: tuple[str, ...], reason: str
) -> None:
    item = {"text": "hello", "stop": stops[WIRES.index(wire)]}
    async with serving(item) as server:
        answer = await collect(make(wire, server.url, http), ask())
    assert answer.finish.stop == reason


async def test_a_cut_anywhere_is_an_error_and_never_an_answer(wire: str, http: HttpClient) -> None:
    whole = frames(wire, FULL)
    finished = 0
    async with WireServer() as server:
        model = make(wire, server.url, http)
        for count in range(len(whole)):
            for last in (b"", whole[count][: len(whole[count]) // 2]):
                server.replies(*whole[:count], last, framing="close")
                kind, answer = await _outcome(model)
                assert kind in {"cut", "finished"}
                if kind == "finished":
                    finished += 1
                    assert answer.finish.stop == "tool_use"
                    assert len(answer.calls) == 2
    # chat says its finish reason before its usage and [DONE]; nothing else ends early
    assert finished == (4 if wire == "chat" else 0)


async def _outcome(model: Any) -> tuple[str, Answer]:
    try:
        return "finished", await collect(model, ask())
    except ModelError as error:
        return error.kind, Answer()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
async def test_any_cut_of_the_bytes_into_pieces_gives_the_same_answer(
    wire: str, http: HttpClient, size: int
) -> None:
    whole = b"".join(frames(wire, FULL))
    crlf = b"\xef\xbb\xbf: hello\r\n\r\nid: 7\r\nretry: 5\r\n" + whole.replace(b"\n", b"\r\n")
    async with WireServer() as server:
        model = make(wire, server.url, http)
        for body in (whole, crlf):
            server.replies(*(body[i : i + size] for i in range(0, len(body), size)))
            answer = await collect(model, ask())
            assert answer.text == FULL["text"]
            assert len(answer.calls) == 2


async def test_unknown_events_fields_and_comments_are_passed_over(
    wire: str, http: HttpClient
) -> None:
    noise = (
        b': ping\n\nevent: from_the_future\ndata: {"type": "from_the_future", "x": [1]}\n\n'
        b"data: {}\n\n\n\nnonsense line\n\n"
    )
    parts: list[bytes] = []
    for frame in frames(wire, FULL):
        parts += [noise, frame]
    async with WireServer() as server:
        server.replies(*parts)
        answer = await collect(make(wire, server.url, http), ask())
    assert answer.text == FULL["text"]
    assert len(answer.calls) == 2


async def test_bytes_that_are_not_utf8_become_replacement_characters(
    wire: str, http: HttpClient
) -> None:
    whole = b"".join(frames(wire, {"text": "abc", "chunks": 1})).replace(b"abc", b"a\xffc")
    async with WireServer() as server:
        server.replies(whole)
        answer = await collect(make(wire, server.url, http), ask())
    assert answer.text == "a\ufffdc"


async def test_half_a_surrogate_becomes_a_replacement_character(
    wire: str, http: HttpClient
) -> None:
    whole = b"".join(frames(wire, {"text": "abc", "chunks": 1})).replace(b"abc", rb"a\ud83dc")
    async with WireServer() as server:
        server.replies(whole)
        answer = await collect(make(wire, server.url, http), ask())
    assert answer.text == "a\ufffdc"


async def test_arguments_of_ten_megabytes_arrive(wire: str, http: HttpClient) -> None:
    big = "x" * 10_000_000
    item = {"calls": [{"tool": "add", "args": {"a": big}}], "chunks": 200}
    async with serving(item) as server:
        answer = await collect(make(wire, server.url, http), ask())
    assert json.loads(answer.calls[0][1]) == {"a": big}


async def test_broken_json_is_a_typed_error(wire: str, http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(frames(wire, FULL)[0], b'data: {"choices": [}\n\n')
        with pytest.raises(ModelError) as error:
            await collect(make(wire, server.url, http), ask())
    assert error.value.kind == "protocol"
    assert error.value.provider == PROVIDERS[wire]


async def test_an_error_inside_the_stream_keeps_the_providers_words(
    wire: str, http: HttpClient
) -> None:
    async with WireServer() as server:
        server.replies(*frames(wire, FULL)[:4], error_frame(wire, f"too busy for {KEY}"))
        with pytest.raises(ModelError, match=r"too busy for \*\*\*") as error:
            await collect(make(wire, server.url, http), ask())
    assert error.value.kind == "unavailable"


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "bad_request", False),
        (401, "authentication", False),
        (403, "authentication", False),
        (404, "bad_request", False),
        (408, "timeout", True),
        (413, "context_overflow", False),
        (422, "bad_request", False),
        (429, "rate_limit", True),
        (500, "unavailable", True),
        (503, "unavailable", True),
        (529, "unavailable", True),
    ],
)
async def test_a_refusal_is_typed_and_never_shows_the_key(
    wire: str, http: HttpClient, status: int, kind: str, retryable: bool
) -> None:
    item = {"status": status, "message": f"no, {KEY}", "headers": {"Retry-After": "7"}}
    async with serving(item) as server:
        with pytest.raises(ModelError, match=r"no, \*\*\*") as error:
            await collect(make(wire, server.url, http), ask())
    assert (error.value.kind, error.value.status) == (kind, status)
    assert error.value.retryable is retryable
    assert error.value.retry_after == 7


async def test_too_long_a_prompt_is_a_context_overflow(wire: str, http: HttpClient) -> None:
    words = {
        "anthropic": "prompt is too long: 250000 tokens > 200000 maximum",
        "gemini": "The input token count (1100000) exceeds the maximum number of tokens allowed",
    }.get(wire, "This model's maximum context length is 128000 tokens.")
    async with serving({"status": 400, "message": words}) as server:
        with pytest.raises(ModelError) as error:
            await collect(make(wire, server.url, http), ask())
    assert error.value.kind == "context_overflow"


@pytest.mark.parametrize("body", ["<html><title>Welcome</title></html>", '{"ok": true}'])
async def test_an_answer_that_is_no_event_stream_names_the_base_url(
    wire: str, http: HttpClient, body: str
) -> None:
    kind = "text/html" if body.startswith("<") else "application/json"
    async with WireServer() as server:
        server.replies(body.encode(), content_type=kind)
        with pytest.raises(ModelError, match="is the base URL right") as error:
            await collect(make(wire, server.url, http), ask())
    assert not error.value.retryable


async def test_a_stream_under_a_wrong_content_type_is_read(wire: str, http: HttpClient) -> None:
    async with WireServer() as server:
        for kind in ("text/plain", "application/octet-stream", None):
            server.replies(*frames(wire, {"text": "hello"}), content_type=kind)
            answer = await collect(make(wire, server.url, http), ask())
            assert answer.text == "hello"


async def test_closing_the_stream_early_closes_the_connection(wire: str, http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(*frames(wire, FULL)[:-4], STALL)
        stream = make(wire, server.url, http).stream(ask())
        async for _ in stream:
            break
        await stream.aclose()
        with anyio.fail_after(5):
            await server.gone.wait()


async def test_cancelling_closes_the_connection(wire: str, http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(*frames(wire, FULL)[:4], STALL)
        model = make(wire, server.url, http)
        with anyio.move_on_after(0.1) as scope:
            await collect(model, ask())
        assert scope.cancelled_caught
        with anyio.fail_after(5):
            await server.gone.wait()


async def test_a_silent_stream_times_out(wire: str) -> None:
    async with WireServer() as server:
        server.replies(frames(wire, FULL)[0], STALL)
        impatient = HttpClient(timeouts=Timeouts(idle=0.1))
        with pytest.raises(ModelError, match=r"sent nothing for 0.1 s") as error:
            await collect(make(wire, server.url, impatient), ask())
    assert error.value.kind == "timeout"


async def test_one_connection_serves_many_requests(wire: str, http: HttpClient) -> None:
    async with serving({"text": "hello"}) as server:
        model = make(wire, server.url, http)
        for _ in range(5):
            await collect(model, ask())
    assert server.connections == 1


def history(model_id: str) -> tuple[Message, ...]:
    """A conversation with everything in it."""
    private = {
        "field": "reasoning_content",
        "encrypted_content": "sealed==",
        "signature": "sealed==",
        "thought_signature": "sealed==",
    }
    calls = (
        ToolCall("r.1.0", "add", {"a": 1, "b": 2}, "call_a", private=private),
        ToolCall("r.1.1", "add", {"a": 3, "b": 4}, "call_b"),
    )
    thinking = Thinking("a private thought", model_id, private)
    return (
        Message(
            id="m1",
            role="user",
            parts=(
                Text("look at these"),
                Image("image/png", "aW1hZ2U="),
                File("notes.txt", "text/plain", "bm90ZXM="),
                File("paper.pdf", "application/pdf", "cGRm"),
            ),
        ),
        Message(
            id="m2", role="assistant", parts=(thinking, Text("I add."), *calls), model=model_id
        ),
        Message(
            id="m3",
            role="tool",
            parts=(
                ToolResult("r.1.0", "add", "three", provider_id="call_a"),
                ToolResult("r.1.1", "add", "no such luck", is_error=True, provider_id="call_b"),
            ),
        ),
        user_message("m4", "go on"),
    )


async def test_a_history_is_sent_with_all_its_parts(wire: str, http: HttpClient) -> None:
    async with serving({"text": "a"}, {"text": "b"}) as server:
        model = make(wire, server.url, http)
        await collect(model, ask(*history(model.id)))
    body = server.bodies[0]
    for text in ("look at these", "I add.", "three", "no such luck", "go on", "aW1hZ2U=", "notes"):
        assert holds(body, text), text
    assert holds(body, "cGRm")
    assert holds(body, "sealed==") == (wire != "chat")
    assert holds(body, "a private thought")
    assert holds(body, "Be brief.")
    assert holds(body, "call_a")
    assert holds(body, ADD.description)


async def test_private_parts_of_another_model_are_left_out(wire: str, http: HttpClient) -> None:
    async with serving({"text": "a"}, {"text": "b"}) as server:
        model = make(wire, server.url, http)
        await collect(model, ask(*history("elsewhere/other-model")))
    assert not holds(server.bodies[0], "sealed==")
    assert not holds(server.bodies[0], "a private thought")
    assert holds(server.bodies[0], "I add.")


async def test_what_came_privately_goes_back_to_the_same_model(wire: str, http: HttpClient) -> None:
    async with serving(FULL, {"text": "done"}) as server:
        model = make(wire, server.url, http)
        answer = await collect(model, ask())
        said = answer.message("m2", model.id)
        starts = [part for part in answer.parts if isinstance(part, CallStart)]
        results = tuple(
            ToolResult(f"m2.{start.index}", "add", "3", provider_id=start.provider_id)
            for start in starts
        )
        told = Message(id="m3", role="tool", parts=results)
        again = await collect(model, ask(user_message("m1", "hi"), said, told))
    assert again.text == "done"
    assert holds(server.bodies[1], "first I think" if wire in {"chat", "anthropic"} else "sealed==")


async def test_settings_are_sent(wire: str, http: HttpClient) -> None:
    settings = ModelSettings(
        temperature=0.25,
        max_output_tokens=7777,
        stop_sequences=() if wire == "responses" else ("HALT",),
        output_schema=ADD.parameters,
        reasoning="low",
        parallel_tool_calls=False,
    )
    async with serving({"text": "{}"}) as server:
        await collect(make(wire, server.url, http), ask(settings=settings, cache_key="thr_9"))
    body = server.bodies[0]
    assert holds(body, "0.25") == (wire != "anthropic")  # it refuses one beside thinking
    assert holds(body, "7777")
    assert holds(body, "HALT") == (wire != "responses")
    assert json.dumps(body).count(json.dumps(ADD.parameters)) == 2
    expected = {
        "chat": {"reasoning_effort": "low", "parallel_tool_calls": False},
        "responses": {
            "reasoning": {"effort": "low", "summary": "auto"},
            "parallel_tool_calls": False,
        },
        "anthropic": {
            "thinking": {"type": "enabled", "budget_tokens": 2048},
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        },
        "gemini": {},
    }[wire]
    assert {key: body[key] for key in expected} == expected
    if wire in {"chat", "responses"}:
        assert body["prompt_cache_key"] == "thr_9"
    if wire == "gemini":
        thinking = {"includeThoughts": True, "thinkingBudget": 2048}
        assert body["generationConfig"]["thinkingConfig"] == thinking


def test_the_request_before_is_the_prefix_of_the_next(wire: str) -> None:
    model = make(wire, "http://127.0.0.1:1", HttpClient())
    whole = history(model.id)
    bodies = [
        model.body(ask(*whole[:count], settings=ModelSettings(max_output_tokens=2000 + count)))
        for count in range(1, len(whole) + 1)
    ]
    mark = b',"cache_control":{"type":"ephemeral"}'
    for earlier, later in itertools.pairwise(bodies):
        plain = earlier.replace(mark, b"")
        assert later.replace(mark, b"").startswith(plain[: _end_of_messages(wire, plain)])
        json.loads(later)


def _end_of_messages(wire: str, body: bytes) -> int:
    """Where the last content of the messages ends: before its closing brackets and the tail."""
    tail = b'],"generationConfig"' if wire == "gemini" else b'],"stream"'
    end = body.rindex(tail)
    while body[end - 1 : end] in b"]}":
        end -= 1
    return end


def test_messages_are_encoded_once(wire: str) -> None:
    model = make(wire, "http://127.0.0.1:1", HttpClient())
    whole = history(model.id)
    first = model.body(ask(*whole))
    cached = dict(model._messages._entries)
    assert model.body(ask(*whole)) == first
    copies = tuple(Message(**{f: getattr(m, f) for f in m.__struct_fields__}) for m in whole)
    assert model.body(ask(*copies)) == first
    assert all(model._messages._entries[key] is value for key, value in cached.items())


def test_a_message_that_changed_under_its_id_is_encoded_again(wire: str) -> None:
    model = make(wire, "http://127.0.0.1:1", HttpClient())
    assert b"first words" in model.body(ask(user_message("m1", "first words")))
    body = model.body(ask(user_message("m1", "other words")))
    assert b"other words" in body
    assert b"first words" not in body


def test_the_key_is_in_no_text_form(wire: str) -> None:
    model = make(wire, "http://127.0.0.1:1", HttpClient())
    assert model.id == f"{PROVIDERS[wire]}/{NAMES[wire]}"
    assert KEY not in repr(model) + repr(model._endpoint) + str(vars(model))


async def test_usage_always_includes_what_was_cached(wire: str, http: HttpClient) -> None:
    item = {"text": "a", "usage": {"input": 1000, "output": 5, "cached": 900}}
    async with serving(item) as server:
        answer = await collect(make(wire, server.url, http), ask())
    assert answer.finish.usage == Usage(input_tokens=1000, output_tokens=5, cached_tokens=900)


def test_a_request_may_have_neither_system_nor_tools(wire: str) -> None:
    model = make(wire, "http://127.0.0.1:1", HttpClient())
    body = json.loads(model.body(ask(system="", tools=())))
    assert "tools" not in body
    assert not {"system", "instructions", "systemInstruction"} & body.keys()
    key = {"responses": "input", "gemini": "contents"}.get(wire, "messages")
    assert len(body[key]) == 1


def test_attachments_of_every_kind_are_placed(wire: str) -> None:
    model = make(wire, "http://127.0.0.1:1", HttpClient())
    files = [
        File("photo.png", "image/png", "aW1hZ2U="),
        File("data.json", "application/json", "e30="),
        File("broken.txt", "text/plain", "/w=="),
    ]
    if wire != "anthropic":
        files.append(File("voice.wav", "audio/wav", "d2F2"))
    parts = (Text(""), *files) if wire != "anthropic" else (Text(""), *files[:2])
    body = json.loads(model.body(ask(Message(id="m1", role="user", parts=parts))))
    for text in ("aW1hZ2U=", "data.json"):
        assert holds(body, text)
    if wire != "anthropic":
        assert holds(body, "d2F2")
        assert holds(body, "/w==")


def test_no_message_is_sent_for_one_that_holds_nothing(wire: str) -> None:
    model = make(wire, "http://127.0.0.1:1", HttpClient())
    foreign = Message(id="m2", role="assistant", parts=(Thinking("x", "other/model", {"a": 1}),))
    whole = (user_message("m1", "hi"), foreign, user_message("m3", "more"))
    body = json.loads(model.body(ask(*whole)))
    assert holds(body, "more")
    assert not holds(body, '"x"')
