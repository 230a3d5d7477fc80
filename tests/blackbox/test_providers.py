"""`bridle run` against a provider on the loopback: each wire format, and each way to fail."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from support.chat_server import ChatServer
from support.cli import Bridle, Finished

Start = Callable[[list[Any]], ChatServer]
USAGE = {"input": 1000, "output": 500}
PROVIDERS = {
    "openai/gpt-4o-mini": ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1"),
    "anthropic/claude-haiku-4-5": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", ""),
    "google/gemini-2.5-flash": ("GEMINI_BASE_URL", "GEMINI_API_KEY", ""),
}


def ask(bridle: Bridle, *more: str, model: str = "openai/gpt-4o-mini") -> Finished:
    return bridle("run", "hello", "--model", model, "--output-format", "json", *more)


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_provider_by_its_variables(bridle: Bridle, chat_server: Start, model: str) -> None:
    (bridle.cwd / "notes.txt").write_text("three small words\n")
    reading = {"calls": [{"tool": "read_file", "args": {"path": "notes.txt"}}], "usage": USAGE}
    server = chat_server([reading, {"text": "Three words.", "usage": USAGE, "chunks": 5}])
    base, key, path = PROVIDERS[model]
    bridle.env = {base: f"http://127.0.0.1:{server.port}{path}", key: "k"}
    done = ask(bridle, model=model)
    assert done.code == 0, done.err
    assert done.json["text"] == "Three words."
    assert done.json["usage"]["total_tokens"] == 3000
    assert done.json["cost_usd"] > 0
    assert "three small words" in server.log.read_text().splitlines()[1]
    text = bridle("run", "hello", "--model", model)
    assert text.out.strip() == "Three words."
    assert " USD" in text.err
    streamed = bridle("run", "hello", "--model", model, "--output-format", "stream-json").lines
    deltas = [e["delta"] for e in streamed if e["type"] == "message_update" and e["kind"] == "text"]
    assert len(deltas) > 2
    assert "".join(deltas).endswith("Three words.")
    assert streamed[-1]["type"] == "result"


def test_responses_where_the_spec_says_so(bridle: Bridle, chat_server: Start) -> None:
    server = chat_server([{"text": "Over responses.", "usage": USAGE}])
    spec = {
        "version": 1,
        "name": "r",
        "model_policy": {
            "primary": "openai/gpt-4o-mini",
            "providers": {
                "openai": {"base_url": server.env["OPENAI_BASE_URL"], "wire": "responses"}
            },
        },
    }
    (bridle.cwd / "harness.yaml").write_text(json.dumps(spec))
    bridle.env = {"OPENAI_API_KEY": "k"}
    refused = bridle("run", "hello")
    assert refused.code == 4  # it says where the key goes
    assert server.requests == 0
    done = bridle("run", "hello", "--trust")
    assert (done.code, done.out.strip()) == (0, "Over responses."), done.err


@pytest.mark.parametrize(
    ("item", "code", "says", "tries"),
    [
        ({"status": 401, "message": "bad key 12"}, 7, ("bad key 12", "OPENAI_API_KEY"), 1),
        ({"status": 403, "message": "not your project"}, 7, ("not your project",), 1),
        ({"status": 400, "message": "no such field"}, 7, ("no such field",), 1),
        ({"status": 404, "message": "no such model"}, 7, ("no such model",), 1),
        ({"status": 503, "message": "we are sorry"}, 75, ("we are sorry", "fallbacks"), 5),
        ({"text": "half an answer", "chunks": 4, "cut": 2}, 75, ("closed the connection",), 5),
        ({"raw": "<html>hi</html>", "content_type": "text/html"}, 7, ("text/html", "base URL"), 1),
    ],
    ids=["key", "forbidden", "request", "model", "down", "cut", "garbage"],
)
def test_a_failure_is_told_and_counted(
    bridle: Bridle, chat_server: Start, item: Any, code: int, says: tuple[str, ...], tries: int
) -> None:
    server = chat_server([item])
    bridle.env = server.env
    done = bridle("run", "hello", "--model", "openai/gpt-4o-mini")
    assert done.code == code, done.err
    assert server.requests == tries
    for part in says:
        assert part in done.err
    assert done.out == ""
    (row,) = bridle("runs", "--json").json
    assert row["reason"] == "error"
    assert bridle("replay", "last").code == 0


def test_nobody_listens(bridle: Bridle) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        bridle.env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "k"}
        done = ask(bridle)
    assert done.code == 75
    error = done.json["error"]
    assert str(port) in error["message"]
    assert error["retryable"] is True


def test_what_can_be_tried_again_is(bridle: Bridle, chat_server: Start) -> None:
    slow_down = {"status": 429, "message": "slow down", "headers": {"Retry-After": "1"}}
    half = {"text": "half an answer, never kept", "chunks": 6, "cut": 3}
    server = chat_server([[slow_down, half, {"text": "At last."}]])
    bridle.env = server.env
    done = ask(bridle)
    assert (done.code, done.json["text"]) == (0, "At last."), done.err
    assert server.requests == 3
    kinds = [e["type"] for e in bridle("events", "last", "--json").lines]
    assert kinds.count("model_retried") == 2
    assert "text_retracted" in kinds
    assert bridle("replay", "last").code == 0


@pytest.mark.parametrize(
    "item",
    [
        {"status": 503, "message": "down"},
        {"status": 429, "message": "slow", "headers": {"Retry-After": "3600"}},
        {"status": 400, "message": "This model's maximum context length is 8 tokens"},
        {"text": "", "stop": "content_filter"},
    ],
    ids=["down", "rate", "overflow", "refusal"],
)
def test_a_fallback_fires(bridle: Bridle, chat_server: Start, item: Any) -> None:
    first, second = chat_server([item]), chat_server([{"text": "From the other.", "usage": USAGE}])
    spec = {
        "version": 1,
        "name": "f",
        "model_policy": {
            "primary": "openai/gpt-4o-mini",
            "fallbacks": ["anthropic/claude-haiku-4-5"],
        },
    }
    (bridle.cwd / "harness.yaml").write_text(json.dumps(spec))
    bridle.env = {
        **first.env,
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{second.port}",
        "ANTHROPIC_API_KEY": "other",
    }
    done = bridle("run", "hello")
    assert (done.code, done.out.strip()) == (0, "From the other."), done.err
    assert "anthropic/claude-haiku-4-5" in done.err  # the user sees it
    (event,) = [
        e for e in bridle("events", "last", "--json").lines if e["type"] == "model_fell_back"
    ]
    assert "openai/gpt-4o-mini" in json.dumps(event)
    assert bridle("replay", "last").code == 0


def test_a_usd_limit_needs_a_price(bridle: Bridle, chat_server: Start) -> None:
    server = chat_server([{"text": "hi", "usage": USAGE}])
    bridle.env = server.env
    unknown = bridle("run", "hello", "--model", "openai/my-own-model", "--max-usd", "1")
    assert unknown.code == 2, unknown.err
    assert "price" in unknown.err
    assert server.requests == 0
    done = bridle("run", "hello", "--model", "openai/my-own-model")
    assert done.code == 0
    assert "price of openai/my-own-model is not known" in done.err
    (spent,) = bridle("cost", "last", "--json").json
    assert (spent["total"]["unpriced"], spent["total"]["cost_usd"]) == (1, 0.0)
    assert "1 of unknown price" in bridle("cost", "last").out
    told = ask(bridle, model="openai/my-own-model")
    assert told.json["cost_usd"] == 0
    assert "price of openai/my-own-model is not known" in told.err
    known = bridle("run", "hello", "--model", "openai/gpt-4o-mini")
    assert "not known" not in known.err
    assert "unknown" not in bridle("cost", "last").out
    spent = ask(bridle, "--max-usd", "0.0000001")
    assert (spent.code, spent.json["reason"]) == (5, "budget_exceeded")
    assert server.requests == 3


@pytest.mark.parametrize(
    ("model", "status", "message", "code", "kept"),
    [
        ("openai/gpt-4o-mini", 401, "Incorrect API key", 7, False),
        ("google/gemini-2.5-flash", 400, "API key not valid.", 7, False),  # Google's way to say it
        ("openai/gpt-4o-mini", 402, "Insufficient balance", 7, True),
        ("openai/gpt-4o-mini", 503, "Overloaded", 75, True),
    ],
)
def test_a_key_that_is_refused_is_not_kept(
    bridle: Bridle,
    chat_server: Start,
    model: str,
    status: int,
    message: str,
    code: int,
    kept: bool,
) -> None:
    server = chat_server([{"status": status, "message": message}])
    base, _, path = PROVIDERS[model]
    bridle.env = {base: f"http://127.0.0.1:{server.port}{path}"}
    provider = model.partition("/")[0]
    done = bridle("connect", provider, "--json", stdin="a-new-key\n")
    assert done.code == code, done.err
    (told,) = done.json
    assert (told["provider"], told["ok"]) == (provider, False)
    assert message in told["message"]
    assert "a-new-key" not in done.out + done.err
    forgotten = bridle("connect", provider, "--forget")
    assert ("Forgotten" in forgotten.err) == kept
