"""Providers through pydantic-ai: what is sent, what comes back, and how it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bridle.errors import ConfigError, ModelError
from bridle.models.catalog import LONG_TAIL
from bridle.models.endpoints import ProviderConfig
from bridle.models.registry import ModelRegistry
from bridle.ports.model import ModelSettings
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from models.corpus import TOOLS
from models.streams import answer, collect, request

pytest.importorskip("pydantic_ai")

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingPart,
    DeltaToolCall,
    FunctionModel,
)
from pydantic_ai.models.test import TestModel

from bridle.models.long_tail import PydanticModel

HISTORY = [
    user_message("m1", "count"),
    Message(
        id="m2",
        role="assistant",
        parts=(
            Thinking("mine", origin="x/y", private={"signature": "s", "provider_name": "p"}),
            Thinking("theirs", origin="other/z", private={"signature": "t"}),
            Text("I look."),
            ToolCall("c1", "read_file", {"path": "a"}, provider_id="p1"),
        ),
    ),
    Message(
        id="m3",
        role="tool",
        parts=(
            ToolResult("c1", "read_file", "no file", is_error=True, provider_id="p1"),
            ToolResult("c2", "read_file", "seen", images=(Image("image/png", "AAAA"),)),
        ),
    ),
    Message(id="m4", role="user", parts=(Text("and this?"), File("a.pdf", "application/pdf", ""))),
]


def streaming(*pieces: Any, seen: list[Any] | None = None) -> PydanticModel:
    async def play(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        if seen is not None:
            seen.append((messages, info))
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    return PydanticModel(FunctionModel(stream_function=play), id="x/y")


async def test_text_thinking_calls_and_usage_come_through() -> None:
    model = streaming(
        {0: DeltaThinkingPart(content="hm", signature="sig")},
        "I ",
        "look.",
        {2: DeltaToolCall(name="read_file", json_args='{"path":', tool_call_id="p1")},
        {2: DeltaToolCall(json_args=' "a.txt"}')},
        {3: DeltaToolCall(name="list_files", json_args="{}", tool_call_id="p2")},
    )
    got = await answer(model, request(tools=TOOLS))
    assert (got.thinking, got.text) == ("hm", "I look.")
    assert got.calls == [("read_file", {"path": "a.txt"}), ("list_files", {})]
    assert got.finish is not None
    assert got.finish.stop == "tool_use"
    assert got.finish.usage is not None
    assert got.finish.usage.output_tokens > 0
    parts = await collect(model, request(tools=TOOLS))
    assert any(getattr(p, "private", None) for p in parts)


async def test_history_tools_and_settings_are_passed_on() -> None:
    seen: list[Any] = []
    settings = ModelSettings(
        temperature=0.1,
        reasoning="low",
        max_output_tokens=9,
        stop_sequences=("END",),
        parallel_tool_calls=False,
        output_schema={"type": "object", "properties": {}},
    )
    await answer(
        streaming("ok", seen=seen),
        request(messages=HISTORY, tools=TOOLS, settings=settings, system="Be brief."),
    )
    messages, info = seen[0]
    asked, said, results, more = messages
    assert asked.instructions == "Be brief."
    assert isinstance(said, ModelResponse)
    assert [type(p) for p in said.parts] == [ThinkingPart, TextPart, ToolCallPart]
    assert said.parts[0].signature == "s"
    assert said.parts[2].tool_call_id == "p1"
    assert [type(p) for p in results.parts] == [ToolReturnPart, ToolReturnPart, UserPromptPart]
    assert (results.parts[0].outcome, results.parts[1].outcome) == ("failed", "success")
    assert len(more.parts[0].content) == 2
    assert [t.name for t in info.function_tools] == [t.name for t in TOOLS]
    assert info.model_settings["temperature"] == 0.1
    assert info.model_settings["max_tokens"] == 9
    assert info.model_settings["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "authentication"), (400, "bad_request"), (429, "rate_limit"), (503, "unavailable")],
)
async def test_failures_are_typed(status: int, kind: str) -> None:
    model = streaming(ModelHTTPError(status_code=status, model_name="m", body={"error": "told"}))
    with pytest.raises(ModelError) as caught:
        await collect(model, request())
    assert (caught.value.kind, caught.value.status) == (kind, status)
    assert caught.value.provider == "x"


async def test_models_of_the_package_work_as_they_are() -> None:
    got = await answer(PydanticModel(TestModel(call_tools=[]), id="x/test"), request())
    assert got.text
    assert got.finish is not None
    assert got.finish.stop == "end_turn"


async def test_closing_early_is_clean() -> None:
    stream = streaming("a", "b", "c").stream(request())
    await anext(stream)
    await stream.aclose()


def test_ids_of_the_long_tail_are_known_and_priced() -> None:
    registry = ModelRegistry({})
    for name in LONG_TAIL:
        assert registry.full_id(f"{name}/some-model") == f"{name}/some-model"
    assert registry.facts("xai/no-such-model") == (None, None)


def test_a_missing_package_or_key_is_told() -> None:
    with pytest.raises(ConfigError, match="bedrock/"):
        ModelRegistry({}).resolve("bedrock/anthropic.claude")


def test_a_provider_of_the_user_wins_over_the_long_tail() -> None:
    own = {"fireworks": ProviderConfig(base_url="http://127.0.0.1:9/v1")}
    registry = ModelRegistry({}, providers=own)
    assert registry.endpoints.of("fireworks").base_url == "http://127.0.0.1:9/v1"
    assert "fireworks" not in registry._sources
