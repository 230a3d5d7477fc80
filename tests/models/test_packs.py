"""Profiles and packs: what they set, who wins, and what wrong ones are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle.errors import ConfigError
from bridle.models.packs import detect, fitted, load_packs, tune
from bridle.models.profiles import PACKS, Pack
from bridle.models.scripted import ScriptedModel, says
from bridle.models.text_calls import TextCalls
from bridle.ports.model import ModelSettings
from models.corpus import TOOLS
from models.streams import answer, request


@pytest.mark.parametrize(
    "name",
    [
        "qwen-coding",
        "glm-coding",
        "gemma4-coding",
        "gemma4-no-tool",
        "ds4-coding",
        "ds4-fast-local",
    ],
)
def test_the_packs_of_the_contract_set_something(name: str) -> None:
    tuning = tune("openai/x", pack=name)
    assert tuning.origin
    assert set(tuning.origin.values()) == {f"pack {name}"}


def test_what_the_packs_stand_for() -> None:
    gemma = tune("x/y", pack="gemma4-coding")
    assert (gemma.tool_call_format, gemma.prompt, gemma.tools) == ("strict-json", "minimal", "core")
    alone = tune("x/y", pack="gemma4-no-tool")
    assert (alone.tools, alone.reasoning) == ("none", "off")
    fast, slow = tune("x/y", pack="ds4-fast-local"), tune("x/y", pack="ds4-coding")
    assert fast.history is not None
    assert slow.history is not None
    assert fast.history < slow.history
    assert fast.max_steps is not None
    assert not tune("x/y", pack="qwen-coding").parallel_tools


def test_explicit_values_win_over_the_pack_and_the_pack_over_the_profile() -> None:
    tuning = tune(
        "x/y",
        profile="no-tool",
        pack="qwen-coding",
        explicit={"temperature": 0.7, "history": None, "tool_call_format": "prompt"},
    )
    assert (tuning.temperature, tuning.origin["temperature"]) == (0.7, "model_policy")
    assert (tuning.tool_call_format, tuning.history) == ("prompt", 60)
    assert (tuning.prompt, tuning.origin["prompt"]) == ("short", "pack qwen-coding")
    assert (tuning.tools, tuning.origin["tools"]) == ("none", "profile no-tool")


def test_a_zero_is_a_value() -> None:
    assert tune("x/y", pack="qwen-coding", explicit={"temperature": 0}).temperature == 0


@pytest.mark.parametrize(
    ("model", "pack"),
    [
        ("ollama/qwen3-coder:30b", "qwen-coding"),
        ("lmstudio/glm-4.7", "glm-coding"),
        ("vllm/google/gemma-4-31b", "gemma4-coding"),
        ("ollama/deepseek-v4-flash", "ds4-coding"),
        ("local/smollm2", "tiny-local"),
        ("local/big.gguf", None),
        ("ollama/unknown", None),
        ("openai/gpt-4o", None),
        ("openrouter/qwen/qwen3-coder", None),
    ],
)
def test_a_local_model_finds_its_pack_by_name(model: str, pack: str | None) -> None:
    found = detect(model)
    assert (found.name if found else None) == pack


def test_nothing_is_set_for_a_hosted_model() -> None:
    tuning = tune("openai/gpt-4o")
    assert tuning.origin == {}
    assert not tuning.repair
    assert tuning.settings() == ModelSettings()


def test_settings_carry_what_is_sent() -> None:
    tuning = tune("x/y", explicit={"temperature": 0.3, "reasoning": "low", "parallel_tools": False})
    assert tuning.settings(output_schema={"type": "object"}) == ModelSettings(
        temperature=0.3,
        reasoning="low",
        parallel_tool_calls=False,
        output_schema={"type": "object"},
    )


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"pack": "qwen-codin"}, "Unknown pack 'qwen-codin'.*Did you mean 'qwen-coding'"),
        ({"profile": "codin"}, "Unknown profile 'codin'.*Did you mean 'coding'"),
        ({"explicit": {"temprature": 1}}, "Unknown field 'temprature'.*'temperature'"),
        ({"explicit": {"temperature": 3}}, "temperature must be from 0 to 2"),
        ({"explicit": {"tool_call_format": "xml"}}, "tool_call_format"),
        ({"explicit": {"history": 0}}, "history must be at least 1"),
        ({"explicit": {"reasoning": "max"}}, "reasoning"),
    ],
)
def test_wrong_policies_are_refused(how: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        tune("x/y", **how)


async def test_a_pack_makes_printed_calls_work() -> None:
    text = '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'
    inner = ScriptedModel([says(text), says(text)])
    plain = fitted(inner, tune("openai/gpt-4o"))
    assert plain is inner
    repaired = fitted(inner, tune("ollama/qwen3"))
    assert isinstance(repaired, TextCalls)
    assert (await answer(repaired, request(tools=TOOLS))).calls == [("bash", {"command": "ls"})]
    asked = fitted(inner, tune("openai/x", explicit={"tool_call_format": "prompt"}))
    await answer(asked, request(tools=TOOLS))
    assert inner.requests[-1].tools == ()


def test_packs_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("match: [my-model]\ntemperature: 0.5\nhistory: 10\n")
    (tmp_path / "other.yml").write_text("name: second\ntool_call_format: prompt\n")
    own = load_packs(tmp_path)
    assert set(own) == {"mine", "second"}
    assert tune("openai/my-model-7b", own=own).temperature == 0.5
    assert tune("x/y", pack="second", own=own).tool_call_format == "prompt"
    assert load_packs(tmp_path / "none") == {}


def test_a_pack_of_the_user_may_replace_one_that_ships() -> None:
    own = {"qwen-coding": Pack(name="qwen-coding", temperature=1.0)}
    tuning = tune("x/y", pack="qwen-coding", own=own)
    assert (tuning.temperature, tuning.history) == (1.0, None)
    assert PACKS["qwen-coding"].temperature == 0.1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- a", "must be a map"),
        ("temperature: [1", "Cannot read the pack"),
        ("temprature: 1", "Did you mean 'temperature'"),
        ("temperature: hot", "temperature"),
        ("max_steps: -1", "max_steps must be at least 1"),
    ],
)
def test_bad_pack_files_say_where_and_what(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(ConfigError, match=told) as caught:
        load_packs(tmp_path)
    assert "bad.yaml" in str(caught.value)
