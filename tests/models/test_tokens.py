"""Token counts: exact where the vocabulary is known, honest estimates elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.models import tokens
from bridle.models.tokens import TokenCount, count, count_message, count_request, estimate
from bridle.types.content import File, Image, Text, Thinking, ToolCall, ToolResult
from bridle.types.messages import Message
from models.corpus import TOOLS
from models.streams import request

SOURCE = Path(tokens.__file__).read_text(encoding="utf-8")


def test_a_count_says_whether_it_is_exact() -> None:
    pytest.importorskip("splintr")
    assert count("hello world", "openai/gpt-4o") == TokenCount(2, exact=True)
    assert count("hello world", "openrouter/meta-llama/llama-3.3-70b-instruct").exact
    assert count("hello world", "ollama/qwen3:8b").exact
    assert not count("hello world", "anthropic/claude-sonnet-4-5").exact
    assert not count("hello world", "openai/gpt-6.1-sol").exact
    assert not count("hello world", "openai/gpt-5.6-sol").exact


def test_marks_in_a_text_are_counted_as_text() -> None:
    pytest.importorskip("splintr")
    assert count("<|endoftext|>", "openai/gpt-4o").value > 1


def test_counts_add_up_to_an_estimate_when_one_is() -> None:
    assert TokenCount(1, exact=True) + TokenCount(2, exact=False) == TokenCount(3, exact=False)


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(SOURCE, id="code"),
        pytest.param("The quick brown fox jumps over the lazy dog. " * 50, id="prose"),
        pytest.param('{"id": 17, "name": "x", "tags": ["a", "b"]}\n' * 50, id="json"),
    ],
)
def test_estimates_are_near_the_truth(sample: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("splintr")
    exact = count(sample, "openai/gpt-4o").value
    guess = estimate(sample)
    with capsys.disabled():
        print(f"\nestimate / exact: {guess / exact:.2f}", end=" ")
    assert 0.75 < guess / exact < 1.4


def test_claude_is_estimated_higher() -> None:
    assert estimate(SOURCE, "anthropic/claude-sonnet-4-5") > estimate(SOURCE)


@given(st.text())
def test_any_text_can_be_counted(text: str) -> None:
    for model in ("anthropic/claude-sonnet-4-5", "openai/gpt-4o", "unknown/x"):
        got = count(text, model)
        assert got.value >= 0
        assert (got.value == 0) == (text == "") or got.exact


def test_half_a_surrogate_is_survived() -> None:
    assert count("\ud800x", "openai/gpt-4o").value > 0
    assert count("\ud800x", "anthropic/claude-sonnet-4-5").value > 0


def test_messages_count_all_their_parts() -> None:
    base = count_message(Message(id="m", role="user", parts=(Text("hi"),)), "x/y").value
    parts = (
        Thinking("some thought"),
        ToolCall("c", "bash", {"command": "ls -la /tmp"}),
        ToolResult("c", "bash", "total 0\n" * 20),
        Image("image/png", "AAAA"),
        File("a.pdf", "application/pdf", "A" * 100_000),
    )
    for part in parts:
        more = count_message(Message(id="m", role="user", parts=(Text("hi"), part)), "x/y")
        assert more.value > base
        assert not more.exact


def test_a_request_counts_system_tools_and_messages() -> None:
    small = count_request(request("hi", system=""), "x/y").value
    with_system = count_request(request("hi", system="Be brief and kind."), "x/y").value
    with_tools = count_request(request("hi", system="", tools=TOOLS), "x/y").value
    assert small < with_system
    assert small < with_tools
