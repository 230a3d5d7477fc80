"""Packs in real runs: every value that a pack has changes what is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.cli import Bridle

SCRIPT = """\
- calls: [{tool: read_file, args: {path: notes.txt}}]
- says: Read.
"""


def sent(bridle: Bridle, policy: dict[str, Any]) -> list[dict[str, Any]]:
    """The requests of a run under a model policy, as its log tells them."""
    (bridle.cwd / "script.yaml").write_text(SCRIPT)
    (bridle.cwd / "notes.txt").write_text("three small words\n")
    spec = {"version": 1, "name": "p", "execution_policy": {"sandbox": "none"}}
    model = {"primary": "scripted/script.yaml", **policy}
    (bridle.cwd / "harness.yaml").write_text(json.dumps({**spec, "model_policy": model}))
    done = bridle("run", "read the notes")
    assert (done.code, done.out.strip()) == (0, "Read."), done.err
    requests = bridle("events", "last", "--requests", "--json").lines
    assert [one["seq"] for one in requests] == sorted(one["seq"] for one in requests)
    assert len(bridle("events", "last", "--requests").out.splitlines()) == len(requests) == 2
    assert bridle("replay", "last").code == 0
    return [one["request"] for one in requests]


def test_a_pack_changes_prompt_tools_and_settings(bridle: Bridle) -> None:
    plain = sent(bridle, {})[0]
    short = sent(bridle, {"pack": "qwen-coding"})[0]
    minimal = sent(bridle, {"pack": "ds4-fast-local"})[0]
    sizes = [len(one["system"]) for one in (plain, short, minimal)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3
    assert (short["settings"]["temperature"], plain["settings"]["temperature"]) == (0.1, None)
    assert short["settings"]["parallel_tool_calls"] is False
    assert len(minimal["tools"]) < len(plain["tools"]) == len(short["tools"])


@pytest.mark.parametrize("told", ["strict-json", "prompt"])
def test_tools_told_in_the_prompt(bridle: Bridle, told: str) -> None:
    first, second = sent(bridle, {"tool_call_format": told})
    assert first["tools"] == []
    assert "read_file" in first["system"]
    assert "three small words" in json.dumps(second["messages"])
    assert not any(part["type"] == "tool_result" for m in second["messages"] for part in m["parts"])


def test_a_pack_of_the_user(bridle: Bridle) -> None:
    packs = bridle.home / "b" / "packs"
    packs.mkdir(parents=True)
    (packs / "mine.yaml").write_text("temperature: 0.7\nprompt: minimal\nhistory: 1\n")
    first, second = sent(bridle, {"pack": "mine"})
    assert first["settings"]["temperature"] == 0.7
    assert len(second["messages"]) == 3  # never less than back to what the user said
    assert newest(bridle) == 1
    assert len(first["system"]) < len(sent(bridle, {})[0]["system"])


def newest(bridle: Bridle) -> int:
    """How many messages the first request of one more run in the thread holds."""
    assert bridle("run", "--continue", "once more").code == 0
    return len(bridle("events", "last", "--requests", "--json").lines[0]["request"]["messages"])


def test_without_a_limit_the_history_is_sent_whole(bridle: Bridle) -> None:
    sent(bridle, {})
    assert newest(bridle) == 5


def test_a_broken_pack_is_told(bridle: Bridle) -> None:
    packs = bridle.home / "b" / "packs"
    packs.mkdir(parents=True)
    (packs / "mine.yaml").write_text("temprature: 0.7\n")
    (bridle.cwd / "script.yaml").write_text("- says: x\n")
    wrong = bridle("run", "go", "--model", "scripted/script.yaml")
    assert wrong.code == 2
    assert "mine.yaml" in wrong.err
    assert "temperature" in wrong.err


def test_the_window_that_the_policy_says(bridle: Bridle) -> None:
    (bridle.cwd / "script.yaml").write_text("- calls: [{tool: inspect_context}]\n- says: Read.\n")
    spec = "version: 1\nname: p\nexecution_policy: {sandbox: none}\ntools: {enabled: ['*']}\n"
    policy = "model_policy: {primary: scripted/script.yaml, context_window: 4321}\n"
    (bridle.cwd / "harness.yaml").write_text(spec + policy)
    done = bridle("run", "--yolo", "look")
    assert done.code == 0, done.err
    (result,) = [
        e["result"] for e in bridle("events", "last", "--json").lines if e["type"] == "tool_end"
    ]
    assert json.loads(result)["context_window"] == 4321
