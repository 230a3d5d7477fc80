from __future__ import annotations

import json
from typing import Any

import pytest

from bridle.errors import ModelError
from bridle.models.http import HttpClient
from bridle.models.providers.anthropic import Anthropic
from bridle.models.providers.anthropic_thinking import thinking_fields, version_of
from bridle.ports.model import ModelSettings, Reasoning, ThinkingDelta
from bridle.types.content import File, Image, Part, Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message, Role, user_message
from support.collect import collect
from support.wire_formats import data
from support.wire_server import WireServer, serving
from support.wires import ADD, ask, frames, make

MARK = {"type": "ephemeral"}


def model(name: str = "claude-sonnet-4-5") -> Anthropic:
    return Anthropic(name, http=HttpClient(), api_key="k")


def body(*messages: Message, name: str = "claude-sonnet-4-5", **fields: Any) -> Any:
    return json.loads(model(name).body(ask(*messages, **fields)))


def message(message_id: str, role: Role, *parts: Part) -> Message:
    return Message(id=message_id, role=role, parts=parts, model="anthropic/claude-sonnet-4-5")


CALL = ToolCall("r.1.0", "add", {"a": 1}, "toolu_1")
RESULT = ToolResult("r.1.0", "add", "1", provider_id="toolu_1")


def marks(value: Any, path: str = "") -> list[str]:
    found: list[str] = []
    if isinstance(value, dict):
        if value.get("cache_control") == MARK:
            found.append(path)
        for key, inner in value.items():
            found += marks(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            found += marks(inner, f"{path}.{place}")
    return found


def test_marks_are_on_the_head_the_request_before_and_the_last_message() -> None:
    sent = body(
        user_message("m1", "hi"),
        message("m2", "assistant", Text("I add."), CALL),
        message("m3", "tool", RESULT),
        message("m4", "assistant", Text("1."), ToolCall("r.2.0", "add", {}, "toolu_2")),
        message("m5", "tool", ToolResult("r.2.0", "add", "2", provider_id="toolu_2")),
    )
    assert marks(sent) == [".system.0", ".messages.2.content.0", ".messages.4.content.0"]


def test_without_a_system_text_the_last_tool_is_marked() -> None:
    assert marks(body(user_message("m1", "hi"), system=""))[0] == ".tools.0"


def test_marks_leave_the_cached_bytes_alone() -> None:
    claude = model()
    first, second = user_message("m1", "hi"), user_message("m2", "more")
    claude.body(ask(first))
    plain = claude._messages.all([first])[0].blocks
    assert b"cache_control" not in plain
    claude.body(ask(first, second))
    assert claude._messages.all([first])[0].blocks is plain


def test_neighbours_of_one_role_are_one_message() -> None:
    sent = body(
        user_message("m1", "hi"),
        message("m2", "assistant", CALL, ToolCall("r.1.1", "add", {}, "toolu_2")),
        message("m3", "tool", RESULT),
        message("m4", "tool", ToolResult("r.1.1", "add", "2", True, "toolu_2")),
        user_message("m5", "and?"),
    )
    assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "user"]
    assert [b["type"] for b in sent["messages"][2]["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]
    assert sent["messages"][2]["content"][1]["is_error"] is True


def test_blocks_that_would_be_refused_are_left_out() -> None:
    sent = body(
        user_message("m1", "hi"),
        message("m2", "assistant", Text("  \n"), Text(""), CALL),
        message("m3", "tool", RESULT),
        message("m4", "assistant", Text("")),
        user_message("m5", "go"),
    )
    assert [len(m["content"]) for m in sent["messages"]] == [1, 1, 2]


def test_ids_of_another_provider_are_made_acceptable_on_both_sides() -> None:
    sent = body(
        user_message("m1", "hi"),
        message("m2", "assistant", ToolCall("run_X.1.0", "add", {})),
        message("m3", "tool", ToolResult("run_X.1.0", "add", "1")),
    )
    used = sent["messages"][1]["content"][0]["id"]
    assert sent["messages"][2]["content"][0]["tool_use_id"] == used
    assert used.replace("_", "").isalnum()


def test_images_of_results_and_files_are_native() -> None:
    image = Image("image/png", "aGk=")
    sent = body(
        Message(id="m1", role="user", parts=(image, File("a.pdf", "application/pdf", "cGRm"))),
        message("m2", "assistant", CALL),
        message("m3", "tool", ToolResult("r.1.0", "add", "see", False, "toolu_1", (image,))),
    )
    assert [b["type"] for b in sent["messages"][0]["content"]] == ["image", "document"]
    assert [b["type"] for b in sent["messages"][2]["content"][0]["content"]] == ["text", "image"]


def test_a_file_it_cannot_take_is_named() -> None:
    clip = File("clip.mp4", "video/mp4", "aGk=")
    with pytest.raises(ModelError, match=r"clip\.mp4.*video/mp4") as error:
        body(Message(id="m1", role="user", parts=(clip,)))
    assert error.value.kind == "bad_request"


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-3-5-haiku-20241022", ("haiku", (3, 5))),
        ("claude-3-opus-20240229", ("opus", (3, 0))),
        ("claude-sonnet-4-20250514", ("sonnet", (4, 0))),
        ("claude-opus-4-1-20250805", ("opus", (4, 1))),
        ("claude-sonnet-4-5", ("sonnet", (4, 5))),
        ("anthropic.claude-opus-4-6-v1", ("opus", (4, 6))),
        ("claude-sonnet-5", ("sonnet", (5, 0))),
        ("claude-opus-5-5", ("opus", (5, 5))),
        ("claude-opus-4.7", ("opus", (4, 7))),
        ("glm-4.6", ("", (0, 0))),
    ],
)
def test_versions_are_read_from_names(name: str, version: tuple[str, tuple[int, int]]) -> None:
    assert version_of(name) == version


@pytest.mark.parametrize(
    ("name", "reasoning", "thinking", "effort"),
    [
        ("claude-sonnet-4-5", "high", {"type": "enabled", "budget_tokens": 24576}, None),
        ("claude-sonnet-4-5", "off", None, None),
        ("claude-opus-4-6", "medium", {"type": "adaptive"}, "medium"),
        ("claude-opus-4-6", "off", None, None),
        ("claude-opus-4-7", "low", {"type": "adaptive", "display": "summarized"}, "low"),
        ("claude-sonnet-5", "off", {"type": "disabled"}, None),
        ("claude-sonnet-5-5", "off", {"type": "between_tools"}, None),
        ("claude-haiku-5-5", "off", {"type": "disabled"}, None),
        ("claude-opus-5-5", "off", None, "low"),
        ("claude-fable-5", "off", None, "low"),
    ],
)
def test_each_generation_is_asked_to_think_in_its_own_way(
    name: str, reasoning: Reasoning, thinking: dict[str, Any] | None, effort: str | None
) -> None:
    assert thinking_fields(version_of(name), reasoning, 64_000) == (thinking, effort)


@pytest.mark.parametrize(("limit", "budget"), [(64_000, 24576), (4096, 3072), (2048, 1024)])
def test_the_budget_leaves_room_for_the_answer(limit: int, budget: int) -> None:
    settings = ModelSettings(reasoning="high", max_output_tokens=limit)
    sent = body(settings=settings)
    assert sent["thinking"]["budget_tokens"] == budget < sent["max_tokens"]


@pytest.mark.parametrize("name", ["claude-sonnet-4-5", "claude-opus-4-6"])
@pytest.mark.parametrize(("reasoning", "sent"), [(None, True), ("off", True), ("low", False)])
def test_a_temperature_is_sent_where_the_model_does_not_think(
    name: str, reasoning: Reasoning | None, sent: bool
) -> None:
    """Beside thinking, any but the default is refused."""
    settings = ModelSettings(temperature=0.25, reasoning=reasoning)
    asked = body(user_message("m1", "hi"), name=name, settings=settings)
    assert asked.get("temperature") == (0.25 if sent else None)
    assert ("thinking" in asked) != sent


def test_no_thinking_where_there_is_no_room_for_it() -> None:
    sent = body(settings=ModelSettings(reasoning="high", max_output_tokens=1500))
    assert "thinking" not in sent


def test_a_turn_that_began_without_own_thinking_goes_on_without_it() -> None:
    turn = (
        user_message("m1", "hi"),
        message("m2", "assistant", Thinking("x", "openai/gpt", {"signature": "no"}), CALL),
        message("m3", "tool", RESULT),
    )
    settings = ModelSettings(reasoning="low")
    assert "thinking" not in body(*turn, settings=settings)
    assert "thinking" in body(*turn, user_message("m4", "new turn"), settings=settings)
    adaptive = body(*turn, name="claude-opus-4-7", settings=settings)
    assert adaptive["thinking"]["type"] == "adaptive"


async def test_redacted_thinking_comes_and_goes_back(http: HttpClient) -> None:
    start = {"type": "redacted_thinking", "data": "hidden=="}
    whole = frames("anthropic", {"calls": [{"tool": "add"}]})
    block = [
        data({"type": "content_block_start", "index": 9, "content_block": start}),
        data({"type": "content_block_stop", "index": 9}),
    ]
    async with WireServer() as server:
        server.replies(*whole[:2], *block, *whole[2:])
        claude = make("anthropic", server.url, http)
        answer = await collect(claude, ask())
        said = answer.message("m2", claude.id)
        sent = json.loads(claude.body(ask(user_message("m1", "hi"), said)))
    assert ThinkingDelta("", {"redacted": "hidden=="}) in answer.parts
    first = sent["messages"][1]["content"][0]
    assert first == {"type": "redacted_thinking", "data": "hidden=="}


async def test_thinking_that_is_not_shown_keeps_its_signature(http: HttpClient) -> None:
    start = {"type": "thinking", "thinking": "", "signature": ""}
    delta = {"type": "signature_delta", "signature": "sealed=="}
    whole = frames("anthropic", {"text": "hi"})
    block = [
        data({"type": "content_block_start", "index": 9, "content_block": start}),
        data({"type": "content_block_delta", "index": 9, "delta": delta}),
        data({"type": "content_block_stop", "index": 9}),
    ]
    async with WireServer() as server:
        server.replies(*whole[:2], *block, *whole[2:])
        claude = make("anthropic", server.url, http)
        said = (await collect(claude, ask())).message("m2", claude.id)
        sent = json.loads(claude.body(ask(user_message("m1", "hi"), said)))
    assert sent["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "",
        "signature": "sealed==",
    }


async def test_a_stop_sequence_is_told(http: HttpClient) -> None:
    async with serving({"text": "a", "stop": "stop_sequence", "stop_sequence": "END"}) as server:
        answer = await collect(make("anthropic", server.url, http), ask())
    assert answer.finish.stop == "stop_sequence"


def _block(index: int, **start: Any) -> bytes:
    return data({"type": "content_block_start", "index": index, "content_block": start})


@pytest.mark.parametrize(
    "bad",
    [
        [_block(0, type="text", text=""), _block(0, type="text", text="")],
        [_block(0, type="tool_use", id="x", input={})],
        [
            data(
                {
                    "type": "content_block_delta",
                    "index": 5,
                    "delta": {"type": "input_json_delta", "partial_json": "{"},
                }
            )
        ],
        [_block(7, type="tool_use", id="x", name="add", input={})],
    ],
    ids=["same block twice", "no name", "no such block", "left open"],
)
async def test_a_stream_that_contradicts_itself_is_refused(
    http: HttpClient, bad: list[bytes]
) -> None:
    whole = frames("anthropic", {"text": "hi"})
    async with WireServer() as server:
        server.replies(*whole[:2], *bad, *whole[-2:])
        with pytest.raises(ModelError) as error:
            await collect(make("anthropic", server.url, http), ask())
    assert error.value.kind == "protocol"


async def test_arguments_that_come_whole_with_the_start_are_kept(http: HttpClient) -> None:
    whole = frames("anthropic", {"text": "hi", "stop": "tool_use"})
    start = _block(7, type="tool_use", id="x", name="add", input={"a": 1})
    stop = data({"type": "content_block_stop", "index": 7})
    async with WireServer() as server:
        server.replies(*whole[:2], start, stop, *whole[-2:])
        answer = await collect(make("anthropic", server.url, http), ask())
    assert answer.calls == [("add", '{"a":1}')]


def test_headers_can_be_replaced() -> None:
    claude = Anthropic(
        "c", http=HttpClient(), api_key="k", headers={"Anthropic-Version": "2026-10-21"}
    )
    headers = dict(claude._endpoint.headers)
    assert headers["anthropic-version"] == "2026-10-21"
    assert headers["x-api-key"] == "k"
    assert ADD.name == "add"
