from __future__ import annotations

import json
from typing import Any

import pytest

from bridle.errors import ModelError
from bridle.models.http import HttpClient
from bridle.models.providers.openai_responses import OpenAIResponses
from bridle.ports.model import ModelSettings, ThinkingDelta
from bridle.types.content import Image, Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from support.collect import collect
from support.wire_formats import data
from support.wire_server import WireServer, serving
from support.wires import ask, frames, make

OWN = "openai/gpt-5"


def body(*messages: Message, name: str = "gpt-5", **fields: Any) -> Any:
    model = OpenAIResponses(name, http=HttpClient(), api_key="k")
    return json.loads(model.body(ask(*messages, **fields)))


def test_nothing_is_stored_at_the_provider() -> None:
    sent = body()
    assert sent["store"] is False
    assert sent["include"] == ["reasoning.encrypted_content"]
    assert "include" not in body(name="gpt-4o")


@pytest.mark.parametrize(
    ("name", "effort"),
    [("gpt-5", "minimal"), ("gpt-5.1", "none"), ("gpt-5.6", "none"), ("o3", "low")],
)
def test_reasoning_off_is_the_least_that_the_model_can(name: str, effort: str) -> None:
    assert body(name=name, settings=ModelSettings(reasoning="off"))["reasoning"]["effort"] == effort


def test_reasoning_off_asks_nothing_of_a_model_without_it() -> None:
    assert "reasoning" not in body(name="gpt-4o", settings=ModelSettings(reasoning="off"))


def test_an_answer_goes_back_as_its_items_in_order() -> None:
    said = (
        Thinking("why", OWN, {"encrypted_content": "sealed=="}),
        Thinking("", OWN, {"phase": "commentary"}),
        Text("I add."),
        ToolCall("1", "add", {"a": 1}, "c1"),
    )
    image = Image("image/png", "aGk=")
    sent = body(
        user_message("m1", "hi"),
        Message(id="m2", role="assistant", parts=said),
        Message(id="m3", role="tool", parts=(ToolResult("1", "add", "x", False, "c1", (image,)),)),
    )
    reasoning, message, call, result = sent["input"][1:]
    assert reasoning == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "why"}],
        "encrypted_content": "sealed==",
    }
    assert (message["phase"], message["content"][0]["text"]) == ("commentary", "I add.")
    assert call["arguments"] == '{"a":1}'
    assert [part["type"] for part in result["output"]] == ["input_text", "input_image"]


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    said = (Thinking("why", OWN, {"encrypted_content": "sealed=="}),)
    sent = body(user_message("m1", "hi"), Message(id="m2", role="assistant", parts=said))
    assert len(sent["input"]) == 1


async def test_stop_sequences_are_refused_with_advice(http: HttpClient) -> None:
    model = OpenAIResponses("gpt-5", http=http)
    with pytest.raises(ModelError, match="use the chat format") as error:
        await collect(model, ask(settings=ModelSettings(stop_sequences=("END",))))
    assert error.value.kind == "bad_request"
    assert error.value.provider == "openai"


async def test_the_phase_of_a_message_is_kept(http: HttpClient) -> None:
    whole = frames("responses", {"text": "hi"})
    phased = [f.replace(b'"type": "message",', b'"type": "message", "phase": "x",') for f in whole]
    async with WireServer() as server:
        server.replies(*phased)
        answer = await collect(make("responses", server.url, http), ask())
    assert answer.parts[0] == ThinkingDelta("", {"phase": "x"})


def event(kind: str, **fields: Any) -> bytes:
    return data({"type": kind, **fields}, kind)


def started(index: int = 0, **item: Any) -> bytes:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "add", **item}
    return event("response.output_item.added", output_index=index, item=item)


END = event("response.completed", response={"status": "completed"})


@pytest.mark.parametrize(
    "bad",
    [
        [started(), started()],
        [started(name="")],
        [event("response.function_call_arguments.delta", output_index=4, delta="{")],
        [started()],
        [
            started(),
            event("response.function_call_arguments.delta", output_index=0, delta='{"a":1'),
            event("response.function_call_arguments.done", output_index=0, arguments='{"a":2}'),
        ],
        [
            started(),
            event("response.function_call_arguments.done", output_index=0, arguments="{}"),
            event("response.function_call_arguments.delta", output_index=0, delta="{"),
        ],
    ],
    ids=["twice", "no name", "not begun", "left open", "differs", "after its end"],
)
async def test_a_stream_that_contradicts_itself_is_refused(
    http: HttpClient, bad: list[bytes]
) -> None:
    async with WireServer() as server:
        server.replies(*bad, END)
        with pytest.raises(ModelError) as error:
            await collect(make("responses", server.url, http), ask())
    assert error.value.kind == "protocol"


async def test_a_call_that_comes_whole_is_taken(http: HttpClient) -> None:
    item = {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a":1}'}
    async with WireServer() as server:
        server.replies(event("response.output_item.done", output_index=0, item=item), END)
        answer = await collect(make("responses", server.url, http), ask())
    assert answer.calls == [("add", '{"a":1}')]


async def test_a_call_cut_by_the_output_limit_is_told_as_such(http: HttpClient) -> None:
    end = event(
        "response.incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}}
    )
    delta = event("response.function_call_arguments.delta", output_index=0, delta='{"a":')
    async with WireServer() as server:
        server.replies(started(), delta, end)
        answer = await collect(make("responses", server.url, http), ask())
    assert answer.finish.stop == "max_tokens"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", "rate_limit"),
        ("server_error", "unavailable"),
        ("context_length_exceeded", "context_overflow"),
        ("insufficient_quota", "authentication"),
        ("invalid_prompt", "bad_request"),
    ],
)
async def test_a_failed_response_is_typed(http: HttpClient, code: str, kind: str) -> None:
    error = {"code": code, "message": "no"}
    frames = (
        event("response.failed", response={"status": "failed", "error": error}),
        event("error", **error),
        event("error", error=error),
    )
    async with WireServer() as server:
        for frame in frames:
            server.replies(frame)
            with pytest.raises(ModelError, match="no") as raised:
                await collect(make("responses", server.url, http), ask())
            assert raised.value.kind == kind


async def test_summaries_are_parted_and_a_refusal_is_told(http: HttpClient) -> None:
    thought = {"output_index": 0, "summary_index": 0}
    async with WireServer() as server:
        server.replies(
            event("response.reasoning_summary_text.delta", **thought, delta="one"),
            event("response.reasoning_summary_part.added", output_index=0, summary_index=1),
            event("response.reasoning_summary_text.delta", **thought, delta="two"),
            event("response.refusal.delta", delta="I cannot."),
            END,
        )
        answer = await collect(make("responses", server.url, http), ask())
    assert answer.thinking == "one\n\ntwo"
    assert answer.text == "I cannot."
    assert answer.finish.stop == "refused"


async def test_a_whole_conversation(http: HttpClient) -> None:
    script = [{"calls": [{"tool": "add", "args": {"a": 1, "b": 2}}]}, {"text": "3"}]
    async with serving(*script) as server:
        model = make("responses", server.url, http)
        said = (await collect(model, ask())).message("m2", model.id)
        result = ToolResult(said.calls[0].id, "add", "3", provider_id=said.calls[0].provider_id)
        told = Message(id="m3", role="tool", parts=(result,))
        answer = await collect(model, ask(user_message("m1", "hi"), said, told))
    assert answer.text == "3"
