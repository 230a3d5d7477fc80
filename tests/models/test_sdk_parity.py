"""What we send is what the official SDKs send for the same conversation, part by part.

The SDKs are asked over real sockets, and what the server received is compared. They are needed for
this file only: `pip install --group dev-sdk`.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bridle.models.http import HttpClient
from bridle.models.providers.anthropic import Anthropic
from bridle.models.providers.dialects import OPENAI
from bridle.models.providers.gemini import Gemini
from bridle.models.providers.openai_chat import OpenAIChat
from bridle.models.providers.openai_responses import OpenAIResponses
from bridle.ports.model import ModelRequest, ModelSettings
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from support.wire_server import WireServer, serving
from support.wires import ADD

pytestmark = pytest.mark.filterwarnings("ignore")

PNG = "aW1hZ2U="
PDF = "cGRm"
SCRIPT = [{"text": "unused"}, {"text": "unused"}, {"text": "done"}]
SETTINGS = ModelSettings(
    temperature=0.5,
    max_output_tokens=4096,
    stop_sequences=("END",),
    reasoning="low",
    output_schema=ADD.parameters,
    parallel_tool_calls=False,
)


def conversation(model_id: str, private: dict[str, Any] | None) -> ModelRequest:
    """A user with attachments, a thought, two calls and their results, an answer, a follow-up."""
    calls = (
        ToolCall("r.1.0", "add", {"a": 1, "b": 2}, "call_1"),
        ToolCall("r.1.1", "add", {"a": 3, "b": 4}, "call_2"),
    )
    thinking = (Thinking("I think", model_id, private),) if private else ()
    return ModelRequest(
        system="Be brief.",
        tools=(ADD,),
        settings=SETTINGS,
        cache_key="thr_1",
        messages=(
            Message(
                id="m1",
                role="user",
                parts=(
                    Text("Look."),
                    Image("image/png", PNG),
                    File("a.pdf", "application/pdf", PDF),
                ),
            ),
            Message(
                id="m2", role="assistant", parts=(*thinking, Text("I add."), *calls), model=model_id
            ),
            Message(
                id="m3",
                role="tool",
                parts=(
                    ToolResult("r.1.0", "add", "3", provider_id="call_1"),
                    ToolResult("r.1.1", "add", "boom", is_error=True, provider_id="call_2"),
                ),
            ),
            Message(id="m4", role="assistant", parts=(Text("3 and an error."),), model=model_id),
            user_message("m5", "Go on."),
        ),
    )


def compare(ours: Any, theirs: Any, *, lists: tuple[str, ...]) -> None:
    """Compare two bodies: each list part by part, the rest field by field."""
    for name in lists:
        own, other = ours.pop(name), theirs.pop(name)
        assert len(own) == len(other), name
        for place, (a, b) in enumerate(zip(own, other, strict=True)):
            assert a == b, f"{name}[{place}]"
    assert ours == theirs


def camel(value: Any) -> Any:
    """Protocol buffers take both spellings of a field; the Google SDK mixes them."""
    if isinstance(value, list):
        return [camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {re.sub(r"_(\w)", lambda m: m[1].upper(), k): camel(v) for k, v in value.items()}


async def received(server: WireServer, request: ModelRequest, model: Any) -> tuple[Any, Any]:
    """The bodies of the last two requests: the SDK's, then ours."""
    async for _ in model.stream(request):
        pass
    assert len(server.requests) == 2
    theirs, ours = server.requests
    assert theirs.path.partition("?")[0] == ours.path.partition("?")[0]
    return ours.json, theirs.json


async def test_chat_completions(http: HttpClient) -> None:
    openai = pytest.importorskip("openai", reason="the openai SDK is not installed (dev-sdk)")
    schema = {"name": "output", "schema": ADD.parameters, "strict": True}

    def call(call_id: str, args: str) -> Any:
        return {"id": call_id, "type": "function", "function": {"name": "add", "arguments": args}}

    async with serving(*SCRIPT) as server:
        url = f"{server.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
            stream = await client.chat.completions.create(
                model="gpt-5",
                stream=True,
                stream_options={"include_usage": True},
                temperature=0.5,
                max_completion_tokens=4096,
                stop=["END"],
                reasoning_effort="low",
                response_format={"type": "json_schema", "json_schema": schema},
                parallel_tool_calls=False,
                prompt_cache_key="thr_1",
                tools=[
                    {
                        "type": "function",
                        "function": {
                            "name": "add",
                            "description": ADD.description,
                            "parameters": ADD.parameters,
                        },
                    }
                ],
                messages=[
                    {"role": "system", "content": "Be brief."},
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "Look."},
                            {
                                "type": "image_url",
                                "image_url": {"url": f"data:image/png;base64,{PNG}"},
                            },
                            {
                                "type": "file",
                                "file": {
                                    "filename": "a.pdf",
                                    "file_data": f"data:application/pdf;base64,{PDF}",
                                },
                            },
                        ],
                    },
                    {
                        "role": "assistant",
                        "content": "I add.",
                        "tool_calls": [
                            call("call_1", '{"a":1,"b":2}'),
                            call("call_2", '{"a":3,"b":4}'),
                        ],
                    },
                    {"role": "tool", "tool_call_id": "call_1", "content": "3"},
                    {"role": "tool", "tool_call_id": "call_2", "content": "boom"},
                    {"role": "assistant", "content": "3 and an error."},
                    {"role": "user", "content": "Go on."},
                ],
            )
            async for _ in stream:
                pass
        model = OpenAIChat("gpt-5", http=http, base_url=url, api_key="k", dialect=OPENAI)
        ours, theirs = await received(server, conversation(model.id, None), model)
        assert server.requests[0].headers["authorization"] == "Bearer k"
        assert server.requests[1].headers["authorization"] == "Bearer k"
    compare(ours, theirs, lists=("messages", "tools"))


async def test_responses(http: HttpClient) -> None:
    openai = pytest.importorskip("openai", reason="the openai SDK is not installed (dev-sdk)")

    def call(call_id: str, args: str) -> Any:
        return {"type": "function_call", "call_id": call_id, "name": "add", "arguments": args}

    def said(text: str) -> Any:
        content = [{"type": "output_text", "text": text}]
        return {"type": "message", "role": "assistant", "content": content}

    def result(call_id: str, text: str) -> Any:
        return {"type": "function_call_output", "call_id": call_id, "output": text}

    async with serving(*SCRIPT) as server:
        url = f"{server.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
            stream = await client.responses.create(
                model="gpt-5",
                stream=True,
                store=False,
                include=["reasoning.encrypted_content"],
                instructions="Be brief.",
                temperature=0.5,
                max_output_tokens=4096,
                reasoning={"effort": "low", "summary": "auto"},
                text={
                    "format": {
                        "type": "json_schema",
                        "name": "output",
                        "schema": ADD.parameters,
                        "strict": True,
                    }
                },
                parallel_tool_calls=False,
                prompt_cache_key="thr_1",
                tools=[
                    {
                        "type": "function",
                        "name": "add",
                        "description": ADD.description,
                        "parameters": ADD.parameters,
                        "strict": False,
                    }
                ],
                input=[
                    {
                        "type": "message",
                        "role": "user",
                        "content": [
                            {"type": "input_text", "text": "Look."},
                            {
                                "type": "input_image",
                                "detail": "auto",
                                "image_url": f"data:image/png;base64,{PNG}",
                            },
                            {
                                "type": "input_file",
                                "filename": "a.pdf",
                                "file_data": f"data:application/pdf;base64,{PDF}",
                            },
                        ],
                    },
                    {
                        "type": "reasoning",
                        "summary": [{"type": "summary_text", "text": "I think"}],
                        "encrypted_content": "sealed==",
                    },
                    said("I add."),
                    call("call_1", '{"a":1,"b":2}'),
                    call("call_2", '{"a":3,"b":4}'),
                    result("call_1", "3"),
                    result("call_2", "boom"),
                    said("3 and an error."),
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "Go on."}],
                    },
                ],
            )
            async for _ in stream:
                pass
        model = OpenAIResponses("gpt-5", http=http, base_url=url, api_key="k")
        request = conversation(model.id, {"encrypted_content": "sealed=="})
        settings = ModelSettings(
            **{
                name: getattr(SETTINGS, name)
                for name in SETTINGS.__struct_fields__
                if name != "stop_sequences"
            }
        )
        request = ModelRequest(
            **{
                name: getattr(request, name)
                for name in request.__struct_fields__
                if name != "settings"
            },
            settings=settings,
        )
        ours, theirs = await received(server, request, model)
    compare(ours, theirs, lists=("input", "tools"))


async def test_anthropic_messages(http: HttpClient) -> None:
    sdk = pytest.importorskip("anthropic", reason="the anthropic SDK is not installed (dev-sdk)")
    mark = {"type": "ephemeral"}

    def use(call_id: str, args: Any) -> Any:
        return {"type": "tool_use", "id": call_id, "name": "add", "input": args}

    def result(call_id: str, text: str, **fields: Any) -> Any:
        return {"type": "tool_result", "tool_use_id": call_id, "content": text, **fields}

    def source(kind: str, payload: str) -> Any:
        return {"type": "base64", "media_type": kind, "data": payload}

    async with serving(*SCRIPT) as server:
        client = sdk.AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0)
        async with client:
            stream = await client.messages.create(
                model="claude-sonnet-4-5",
                stream=True,
                max_tokens=4096,
                stop_sequences=["END"],
                thinking={"type": "enabled", "budget_tokens": 2048},
                output_config={"format": {"type": "json_schema", "schema": ADD.parameters}},
                tool_choice={"type": "auto", "disable_parallel_tool_use": True},
                system=[{"type": "text", "text": "Be brief.", "cache_control": mark}],
                tools=[
                    {
                        "name": "add",
                        "description": ADD.description,
                        "input_schema": ADD.parameters,
                    }
                ],
                messages=[
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "Look."},
                            {"type": "image", "source": source("image/png", PNG)},
                            {
                                "type": "document",
                                "source": source("application/pdf", PDF),
                                "title": "a.pdf",
                            },
                        ],
                    },
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "thinking", "thinking": "I think", "signature": "sealed=="},
                            {"type": "text", "text": "I add."},
                            use("call_1", {"a": 1, "b": 2}),
                            use("call_2", {"a": 3, "b": 4}),
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            result("call_1", "3"),
                            result("call_2", "boom", is_error=True, cache_control=mark),
                        ],
                    },
                    {
                        "role": "assistant",
                        "content": [{"type": "text", "text": "3 and an error."}],
                    },
                    {
                        "role": "user",
                        "content": [{"type": "text", "text": "Go on.", "cache_control": mark}],
                    },
                ],
            )
            async for _ in stream:
                pass
        model = Anthropic("claude-sonnet-4-5", http=http, base_url=server.url, api_key="k")
        request = conversation(model.id, {"signature": "sealed=="})
        ours, theirs = await received(server, request, model)
        assert server.requests[1].headers["x-api-key"] == "k"
    compare(ours, theirs, lists=("messages", "tools", "system"))


async def test_gemini(http: HttpClient) -> None:
    genai = pytest.importorskip("google.genai", reason="google-genai is not installed (dev-sdk)")
    from google.genai import types

    def part(**fields: Any) -> Any:
        return types.Part(**fields)

    def call(call_id: str, args: Any) -> Any:
        return part(function_call=types.FunctionCall(id=call_id, name="add", args=args))

    def result(call_id: str, response: Any) -> Any:
        function = types.FunctionResponse(id=call_id, name="add", response=response)
        return part(function_response=function)

    config = types.GenerateContentConfig(
        system_instruction=types.Content(parts=[part(text="Be brief.")]),
        temperature=0.5,
        max_output_tokens=4096,
        stop_sequences=["END"],
        response_mime_type="application/json",
        response_json_schema=ADD.parameters,
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=2048),
        tools=[
            types.Tool(
                function_declarations=[
                    types.FunctionDeclaration(
                        name="add",
                        description=ADD.description,
                        parameters_json_schema=ADD.parameters,
                    )
                ]
            )
        ],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents = [
        types.Content(
            role="user",
            parts=[
                part(text="Look."),
                types.Part.from_bytes(data=b"image", mime_type="image/png"),
                types.Part.from_bytes(data=b"pdf", mime_type="application/pdf"),
            ],
        ),
        types.Content(
            role="model",
            parts=[
                part(text="I think", thought=True, thought_signature=b"sealed"),
                part(text="I add."),
                call("call_1", {"a": 1, "b": 2}),
                call("call_2", {"a": 3, "b": 4}),
            ],
        ),
        types.Content(
            role="user",
            parts=[result("call_1", {"output": "3"}), result("call_2", {"error": "boom"})],
        ),
        types.Content(role="model", parts=[part(text="3 and an error.")]),
        types.Content(role="user", parts=[part(text="Go on.")]),
    ]
    async with serving(*SCRIPT) as server:
        options = types.HttpOptions(base_url=server.url, api_version="v1beta")
        client = genai.Client(api_key="k", http_options=options)
        stream = await client.aio.models.generate_content_stream(
            model="gemini-2.5-flash", contents=contents, config=config
        )
        async for _ in stream:
            pass
        await client.aio.aclose()
        model = Gemini("gemini-2.5-flash", http=http, base_url=f"{server.url}/v1beta", api_key="k")
        request = conversation(model.id, {"thought_signature": "c2VhbGVk"})
        ours, theirs = await received(server, request, model)
        assert server.requests[0].path == server.requests[1].path
    compare(camel(ours), camel(theirs), lists=("contents", "tools"))


def test_the_conversation_is_json() -> None:
    model = OpenAIChat("gpt-5", http=HttpClient())
    json.loads(model.body(conversation(model.id, None)))
