from __future__ import annotations

import json

import anyio
import pytest

from bridle.errors import ConfigError, ModelError
from bridle.models.http import HttpClient, Timeouts
from bridle.models.providers.endpoint import join_url
from bridle.models.providers.openai_chat import OpenAIChat
from bridle.models.providers.schema import is_strict
from bridle.ports.model import CallStart, ModelRequest, ModelSettings
from bridle.types.content import Image, Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from bridle.types.tools import ToolSpec
from bridle.types.usage import Usage
from support.collect import collect
from support.wire_formats import data
from support.wire_server import CUT, STALL, WireServer, serving

ADD = ToolSpec(name="add", description="Add.", parameters={"type": "object", "properties": {}})


def chat(server: WireServer, http: HttpClient) -> OpenAIChat:
    return OpenAIChat("gpt-x", http=http, base_url=f"{server.url}/v1", api_key="sk-secret")


def ask(*messages: Message, **fields: object) -> ModelRequest:
    fields.setdefault("tools", (ADD,))
    given = messages or (user_message("m1", "hi"),)
    return ModelRequest(system="be brief", messages=given, **fields)  # type: ignore[arg-type]


async def test_text_thinking_and_parallel_calls_are_streamed(http: HttpClient) -> None:
    item = {
        "thinking": "let me see",
        "text": "I will add.",
        "calls": [{"tool": "add", "args": {"a": 1}}, {"tool": "add", "args": {"a": 2}}],
        "usage": {"input": 50, "output": 9, "cached": 30, "reasoning": 4},
    }
    async with serving(item) as server:
        answer = await collect(chat(server, http), ask())
    assert answer.text == "I will add."
    assert answer.thinking == "let me see"
    assert answer.calls == [("add", '{"a": 1}'), ("add", '{"a": 2}')]
    assert answer.finish.stop == "tool_use"
    assert answer.finish.usage == Usage(
        input_tokens=50, output_tokens=9, cached_tokens=30, reasoning_tokens=4
    )


async def test_settings_are_sent(http: HttpClient) -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    settings = ModelSettings(
        temperature=0.5,
        max_output_tokens=100,
        stop_sequences=("END",),
        reasoning="low",
        output_schema=schema,
        parallel_tool_calls=False,
    )
    async with serving({"text": "{}"}) as server:
        await collect(chat(server, http), ask(settings=settings, cache_key="thr_1"))
    body = server.bodies[0]
    assert body["temperature"] == 0.5
    assert body["max_tokens"] == 100
    assert body["stop"] == ["END"]
    assert body["reasoning_effort"] == "low"
    assert body["parallel_tool_calls"] is False
    assert body["prompt_cache_key"] == "thr_1"
    assert body["response_format"]["json_schema"]["strict"] is True
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret"


async def test_a_stream_without_its_end_is_cut(http: HttpClient) -> None:
    async with serving({"calls": [{"tool": "add", "args": {"a": 1}}], "cut": 5}) as server:
        with pytest.raises(ModelError) as error:
            await collect(chat(server, http), ask())
    assert error.value.kind == "cut"
    assert error.value.retryable


async def test_a_clean_end_without_a_finish_reason_is_cut_too(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(
            data({"choices": [{"delta": {"content": "hi"}}]}), b"data: [DONE]\n\n", framing="close"
        )
        with pytest.raises(ModelError, match="ended before") as error:
            await collect(chat(server, http), ask())
    assert error.value.kind == "cut"


async def test_a_connection_lost_after_the_end_is_no_failure(http: HttpClient) -> None:
    frame = data({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]})
    async with WireServer() as server:
        server.replies(frame, CUT)
        answer = await collect(chat(server, http), ask())
    assert answer.text == "hi"
    assert answer.finish.usage is None


async def test_closing_the_stream_closes_the_connection(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(data({"choices": [{"delta": {"content": "hi"}}]}), STALL)
        stream = chat(server, http).stream(ask())
        async for _ in stream:
            break
        await stream.aclose()  # type: ignore[attr-defined]
        with anyio.fail_after(5):
            await server.gone.wait()


async def test_cancelling_closes_the_connection(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(data({"choices": [{"delta": {"content": "hi"}}]}), STALL)
        model = chat(server, http)
        with anyio.move_on_after(0.2):
            await collect(model, ask())
        with anyio.fail_after(5):
            await server.gone.wait()


async def test_the_idle_watchdog_ends_a_silent_stream(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(data({"choices": [{"delta": {"content": "hi"}}]}), STALL)
        impatient = HttpClient(timeouts=Timeouts(idle=0.1))
        with pytest.raises(ModelError, match="sent nothing") as error:
            await collect(chat(server, impatient), ask())
    assert error.value.kind == "timeout"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "authentication"),
        (403, "authentication"),
        (404, "bad_request"),
        (429, "rate_limit"),
        (500, "unavailable"),
        (503, "unavailable"),
    ],
)
async def test_a_refusal_is_a_typed_error(http: HttpClient, status: int, kind: str) -> None:
    item = {
        "status": status,
        "message": "no luck with sk-secret",
        "headers": {"Retry-After": "7"},
    }
    async with serving(item) as server:
        with pytest.raises(ModelError, match=r"no luck with \*\*\*") as error:
            await collect(chat(server, http), ask())
    assert error.value.kind == kind
    assert error.value.status == status
    assert error.value.retry_after == 7
    assert error.value.provider == "openai"


async def test_an_error_inside_the_stream_is_raised(http: HttpClient) -> None:
    inside = {"error": {"message": "overloaded", "code": 503}}
    async with WireServer() as server:
        server.replies(data({"choices": [{"delta": {"content": "a"}}]}), data(inside))
        with pytest.raises(ModelError, match="overloaded") as error:
            await collect(chat(server, http), ask())
    assert error.value.kind == "unavailable"


async def test_parallel_calls_that_share_an_index_are_told_apart(http: HttpClient) -> None:
    def call(call_id: str, args: str) -> bytes:
        function = {"name": "add", "arguments": args}
        return data(
            {
                "choices": [
                    {"delta": {"tool_calls": [{"index": 0, "id": call_id, "function": function}]}}
                ]
            }
        )

    end = data({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    async with WireServer() as server:
        server.replies(call("c1", '{"a":1}'), call("c2", '{"a":2}'), end)
        answer = await collect(chat(server, http), ask())
    assert answer.calls == [("add", '{"a":1}'), ("add", '{"a":2}')]
    assert [p.provider_id for p in answer.parts if isinstance(p, CallStart)] == ["c1", "c2"]
    assert answer.finish.stop == "tool_use"


async def test_the_prefix_of_a_request_is_the_earlier_request(http: HttpClient) -> None:
    async with serving({"text": "a"}) as server:
        model = chat(server, http)
        first = ask(user_message("m1", "hi"))
        later = ask(
            user_message("m1", "hi"),
            Message(id="m2", role="assistant", parts=(Text("a"),)),
            user_message("m3", "more"),
            settings=ModelSettings(max_output_tokens=5),
        )
        early = model.body(first)
        cut = early.index(b'],"stream"')
        assert model.body(later).startswith(early[:cut])


async def test_reasoning_goes_back_only_to_the_model_that_wrote_it(http: HttpClient) -> None:
    call = ToolCall("r.1.0", "add", {}, "c1")

    def history(origin: str) -> tuple[Message, ...]:
        thinking = Thinking("hmm", origin, {"field": "reasoning_content"})
        return (
            user_message("m1", "hi"),
            Message(id="m2", role="assistant", parts=(thinking, call)),
            Message(
                id="m3", role="tool", parts=(ToolResult("r.1.0", "add", "3", provider_id="c1"),)
            ),
        )

    script = [{"text": "unused"}, {"text": "done"}]
    async with serving(*script) as server:
        await collect(chat(server, http), ask(*history("openai/gpt-x")))
        await collect(chat(server, http), ask(*history("anthropic/claude")))
    own, foreign = (body["messages"][2] for body in server.bodies)
    assert own["reasoning_content"] == "hmm"
    assert "reasoning_content" not in foreign


async def test_images_of_results_follow_after_all_results(http: HttpClient) -> None:
    image = Image("image/png", "aGk=")
    results = (
        Message(id="m3", role="tool", parts=(ToolResult("1", "add", "x", images=(image,)),)),
        Message(id="m4", role="tool", parts=(ToolResult("2", "add", "y"),)),
    )
    calls = (ToolCall("1", "add", {}), ToolCall("2", "add", {}))
    async with serving({"text": "a"}, {"text": "b"}) as server:
        await collect(
            chat(server, http),
            ask(
                user_message("m1", "hi"),
                Message(id="m2", role="assistant", parts=calls),
                *results,
            ),
        )
    roles = [message["role"] for message in server.bodies[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]


def chunk(**delta: object) -> bytes:
    return data({"choices": [{"index": 0, "delta": delta}]})


END = data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


async def test_a_call_whose_name_comes_late_is_whole(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(
            chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"arguments": '{"a"'}}]),
            chunk(tool_calls=[{"index": 0, "function": {"name": "add", "arguments": ":1}"}}]),
            chunk(tool_calls=[{"index": 0, "function": {"name": "add"}}]),
            END,
        )
        answer = await collect(chat(server, http), ask())
    assert answer.calls == [("add", '{"a":1}')]


async def test_a_call_that_never_gets_a_name_is_refused(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(chunk(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}]), END)
        with pytest.raises(ModelError, match="without a name") as error:
            await collect(chat(server, http), ask())
    assert error.value.kind == "protocol"


async def test_calls_without_an_index_are_told_apart_by_their_ids(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(
            chunk(tool_calls=[{"id": "c1", "function": {"name": "add", "arguments": '{"a":'}}]),
            chunk(tool_calls=[{"function": {"arguments": "1}"}}]),
            chunk(tool_calls=[{"id": "c2", "function": {"name": "add", "arguments": {"a": 2}}}]),
            END,
        )
        answer = await collect(chat(server, http), ask())
    assert answer.calls == [("add", '{"a":1}'), ("add", '{"a":2}')]


async def test_content_in_parts_and_a_refusal_are_read(http: HttpClient) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}
    async with WireServer() as server:
        server.replies(
            chunk(content=[thinking, {"type": "text", "text": "hello"}]),
            chunk(refusal="I cannot."),
            END,
        )
        answer = await collect(chat(server, http), ask())
    assert (answer.thinking, answer.text) == ("hmm", "helloI cannot.")
    assert answer.finish.stop == "refused"


async def test_reasoning_details_are_kept_whole(http: HttpClient) -> None:
    def detail(**fields: object) -> bytes:
        return chunk(reasoning_details=[{"type": "reasoning.text", "index": 0, **fields}])

    call = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": "{}"}}
    async with WireServer() as server:
        server.replies(
            detail(text="one "),
            detail(text="two"),
            detail(signature="s=="),
            chunk(tool_calls=[call]),
            END,
        )
        model = chat(server, http)
        said = (await collect(model, ask())).message("m2", model.id)
        body = json.loads(model.body(ask(user_message("m1", "hi"), said)))
    assert body["messages"][2]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "one two", "signature": "s=="}
    ]


@pytest.mark.parametrize(
    ("provider", "url", "expected"),
    [
        (
            "openai",
            "https://api.openai.com/v1",
            {"max_completion_tokens": 9, "reasoning_effort": "minimal", "prompt_cache_key": "t"},
        ),
        ("groq", "https://api.groq.com/openai/v1", {"max_tokens": 9, "reasoning_effort": "none"}),
        (
            "openrouter",
            "https://openrouter.ai/api/v1",
            {"max_tokens": 9, "reasoning": {"enabled": False}, "prompt_cache_key": "t"},
        ),
        (
            "deepseek",
            "https://api.deepseek.com",
            {"max_tokens": 9, "thinking": {"type": "disabled"}, "prompt_cache_key": "t"},
        ),
        (
            "vllm",
            "http://localhost:8000/v1",
            {"max_tokens": 9, "reasoning_effort": "none", "prompt_cache_key": "t"},
        ),
    ],
)
def test_each_server_is_asked_in_its_dialect(
    provider: str, url: str, expected: dict[str, object]
) -> None:
    model = OpenAIChat("gpt-5", http=HttpClient(), provider=provider, base_url=url)
    settings = ModelSettings(max_output_tokens=9, reasoning="off")
    body = json.loads(model.body(ask(settings=settings, cache_key="t")))
    for key in ("model", "messages", "tools", "stream", "stream_options"):
        del body[key]
    assert body == expected


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/o?api-version=1", "http://h/o/chat/completions?api-version=1"),
    ],
)
def test_paths_are_joined(base: str, url: str) -> None:
    assert join_url(base, "/chat/completions") == url


def test_headers_given_replace_our_own() -> None:
    model = OpenAIChat("m", http=HttpClient(), api_key="k", headers={"Authorization": "Other x"})
    assert ("authorization", "Other x") in model._endpoint.headers
    assert len([name for name, _ in model._endpoint.headers if name == "authorization"]) == 1


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "object", "properties": {}, "additionalProperties": False}, True),
        ({"type": "object", "properties": {}}, False),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "object", "properties": {}}},
                "required": ["a"],
                "additionalProperties": False,
            },
            False,
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                "required": ["a"],
                "additionalProperties": False,
                "$defs": {"x": {"type": "string"}},
            },
            True,
        ),
        ({"oneOf": []}, False),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, False),
    ],
)
def test_strict_is_asked_only_for_schemas_that_can_be(
    schema: dict[str, object], strict: bool
) -> None:
    assert is_strict(schema) is strict


def test_mistral_gets_ids_of_nine_letters_on_both_sides() -> None:
    model = OpenAIChat("m", http=HttpClient(), provider="mistral", base_url="https://x/v1")
    call = ToolCall("run_1.1.0", "add", {}, "toolu_from_elsewhere")
    result = ToolResult("run_1.1.0", "add", "3", provider_id="toolu_from_elsewhere")
    body = json.loads(
        model.body(
            ask(
                user_message("m1", "hi"),
                Message(id="m2", role="assistant", parts=(call,)),
                Message(id="m3", role="tool", parts=(result,)),
            )
        )
    )
    used = body["messages"][2]["tool_calls"][0]["id"]
    assert len(used) == 9
    assert body["messages"][3]["tool_call_id"] == used
    assert "stream_options" not in body


async def test_a_key_that_cannot_be_sent_is_not_shown(http: HttpClient) -> None:
    model = OpenAIChat("m", http=http, api_key="sk-secret\n", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(ConfigError, match="a key") as error:
        await collect(model, ask())
    assert "sk-secret" not in str(error.value)


async def test_a_refusal_whose_body_never_comes_keeps_its_status(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(CUT, status=503)
        with pytest.raises(ModelError, match="HTTP 503") as error:
            await collect(chat(server, http), ask())
    assert error.value.kind == "unavailable"


async def test_secrets_in_headers_and_urls_are_not_shown(http: HttpClient) -> None:
    async with WireServer() as server:
        url = server.url.replace("//", "//user:hunter22@") + "/v1?key=hunter33"
        model = OpenAIChat("m", http=http, base_url=url, headers={"X-Api-Token": "hunter44"})
        server.replies(b'{"error": "bad hunter44"}', status=400, content_type="application/json")
        with pytest.raises(ModelError, match=r"bad \*\*\*"):
            await collect(model, ask())
        server.replies(b"<html>", content_type="text/html")
        with pytest.raises(ModelError) as error:
            await collect(model, ask())
    assert "hunter" not in str(error.value) + repr(model._endpoint)
    assert server.requests[0].path == "/v1/chat/completions?key=hunter33"
