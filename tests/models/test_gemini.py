from __future__ import annotations

import json
from typing import Any

import pytest

from bridle.errors import ModelError
from bridle.models.http import HttpClient
from bridle.models.providers.gemini import Gemini
from bridle.models.providers.gemini_encode import NO_SIGNATURE
from bridle.ports.model import CallStart, ModelSettings, Reasoning
from bridle.types.content import Image, Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from support.collect import collect
from support.wire_formats import data
from support.wire_server import WireServer, serving
from support.wires import ask, make


def body(*messages: Message, name: str = "gemini-3.8-flash", **fields: Any) -> Any:
    model = Gemini(name, http=HttpClient(), api_key="k")
    return json.loads(model.body(ask(*messages, **fields)))


def turn(model: str | None, **private: Any) -> tuple[Message, ...]:
    calls = (
        ToolCall("1", "add", {"a": 1}, "c1", private=private or None),
        ToolCall("2", "add", {"a": 2}, "c2"),
    )
    image = Image("image/png", "aGk=")
    return (
        user_message("m1", "hi"),
        Message(id="m2", role="assistant", parts=calls, model=model),
        Message(id="m3", role="tool", parts=(ToolResult("1", "add", "x", False, "c1", (image,)),)),
        Message(id="m4", role="tool", parts=(ToolResult("2", "add", "bad", True, "c2"),)),
    )


def test_a_signature_goes_back_on_the_call_that_had_it() -> None:
    sent = body(*turn("google/gemini-3.8-flash", thought_signature="sealed=="))
    first, second = sent["contents"][1]["parts"]
    assert first["thoughtSignature"] == "sealed=="
    assert "thoughtSignature" not in second
    assert first["functionCall"] == {"name": "add", "args": {"a": 1}, "id": "c1"}


def test_calls_of_another_model_are_excused() -> None:
    sent = body(*turn("openai/gpt-5", thought_signature="sealed=="))
    assert sent["contents"][1]["parts"][0]["thoughtSignature"] == NO_SIGNATURE
    old = body(*turn("openai/gpt-5"), name="gemini-2.5-pro")
    assert "thoughtSignature" not in old["contents"][1]["parts"][0]


def test_results_stand_together_with_their_images() -> None:
    sent = body(*turn(None))
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]
    results = sent["contents"][2]["parts"]
    assert [next(iter(part)) for part in results] == [
        "functionResponse",
        "inlineData",
        "functionResponse",
    ]
    assert results[2]["functionResponse"]["response"] == {"error": "bad"}
    assert results[2]["functionResponse"]["id"] == "c2"


def test_a_signature_on_text_goes_back_in_an_empty_part() -> None:
    said = (Text("hello"), Thinking("", "google/gemini-3.8-flash", {"thought_signature": "s=="}))
    sent = body(user_message("m1", "hi"), Message(id="m2", role="assistant", parts=said))
    assert sent["contents"][1]["parts"] == [
        {"text": "hello"},
        {"text": "", "thoughtSignature": "s=="},
    ]


@pytest.mark.parametrize(
    ("name", "reasoning", "config"),
    [
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "off", {"thinkingBudget": 128}),
        ("gemini-2.5-pro", "high", {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-3.8-flash", "off", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3-pro-preview", "off", {"thinkingLevel": "LOW"}),
        ("gemini-4-argon", "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
    ],
)
def test_each_generation_is_asked_to_think_in_its_own_way(
    name: str, reasoning: Reasoning, config: dict[str, Any]
) -> None:
    sent = body(name=name, settings=ModelSettings(reasoning=reasoning))
    assert sent["generationConfig"]["thinkingConfig"] == config


def chunk(*parts: Any, **candidate: Any) -> bytes:
    return data({"candidates": [{"content": {"parts": list(parts)}, **candidate}]})


async def test_signatures_and_ids_of_calls_are_kept(http: HttpClient) -> None:
    call = {"functionCall": {"name": "add", "id": "c9"}, "thoughtSignature": "sealed=="}
    async with WireServer() as server:
        server.replies(chunk(call, finishReason="STOP"))
        answer = await collect(make("gemini", server.url, http), ask())
    assert answer.parts[0] == CallStart(0, "add", "c9", {"thought_signature": "sealed=="})
    assert answer.calls == [("add", "{}")]
    assert answer.finish.stop == "tool_use"


async def test_a_blocked_prompt_is_a_refusal(http: HttpClient) -> None:
    async with WireServer() as server:
        server.replies(data({"promptFeedback": {"blockReason": "SAFETY"}}))
        answer = await collect(make("gemini", server.url, http), ask())
    assert answer.finish.stop == "refused"


async def test_a_call_that_the_provider_could_not_read_is_retried(http: HttpClient) -> None:
    end = chunk(finishReason="MALFORMED_FUNCTION_CALL", finishMessage="Malformed call: print(")
    async with WireServer() as server:
        server.replies(end)
        with pytest.raises(ModelError, match="Malformed call") as error:
            await collect(make("gemini", server.url, http), ask())
    assert error.value.retryable


async def test_usage_after_the_finish_reason_counts(http: HttpClient) -> None:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 3}
    async with WireServer() as server:
        server.replies(chunk({"text": "a"}, finishReason="STOP"), data({"usageMetadata": usage}))
        answer = await collect(make("gemini", server.url, http), ask())
    assert answer.finish.usage is not None
    assert answer.finish.usage.output_tokens == 8
    assert answer.finish.usage.reasoning_tokens == 3


async def test_the_model_is_in_the_path_and_the_key_in_a_header(http: HttpClient) -> None:
    async with serving({"text": "a"}) as server:
        await collect(make("gemini", server.url, http), ask())
    request = server.requests[0]
    assert request.path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    assert "x-goog-api-key" in request.headers
