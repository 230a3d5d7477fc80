"""Which model is taken, what is listed, and whether providers can be called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.errors import ConfigError
from bridle.models.build import Plan
from bridle.models.choose import choose
from bridle.models.endpoints import ProviderConfig
from bridle.models.listing import auth_status, available, try_key
from bridle.models.registry import ModelRegistry
from bridle.models.scripted import Item, ScriptedModel, fails, says
from models.streams import Sleeps


def registry(env: dict[str, str] | None = None, **more: Any) -> ModelRegistry:
    more["providers"] = msgspec.convert(more.get("providers", {}), dict[str, ProviderConfig])
    return ModelRegistry(env or {}, **more)


def answering(*items: Item, env: dict[str, str] | None = None) -> tuple[ModelRegistry, list[Plan]]:
    plans: list[Plan] = []

    def build(plan: Plan) -> ScriptedModel:
        plans.append(plan)
        return ScriptedModel(items, id=plan.id, clock=Sleeps())

    return ModelRegistry(env or {"OPENAI_API_KEY": "k"}, build=build), plans


KEYS = {"OPENAI_API_KEY": "k", "GROQ_API_KEY": "k"}


def test_the_order_of_opinions(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/smollm2.gguf").write_bytes(b"GGUF")
    models = registry(KEYS, data_dir=tmp_path)
    every = {"flag": "groq/a", "spec": "gpt-4o", "user": "anthropic/b"}
    assert choose(models, **every).id == "groq/a"
    assert choose(models, **every).because == "flag"
    del every["flag"]
    assert (choose(models, **every).id, choose(models, **every).because) == (
        "openai/gpt-4o",
        "spec",
    )
    del every["spec"]
    assert (choose(models, **every).id, choose(models, **every).because) == (
        "anthropic/b",
        "config",
    )
    by_key = choose(models)
    assert (by_key.id.partition("/")[0], by_key.because) == ("openai", "key")
    assert by_key.detail == "key in OPENAI_API_KEY"
    last = choose(registry(data_dir=tmp_path))
    assert (last.id, last.because) == ("local/smollm2", "local")


def test_without_any_model_the_ways_are_listed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        choose(registry(data_dir=tmp_path))
    told = str(caught.value)
    for way in ("ANTHROPIC_API_KEY", "bridle connect", "ollama/", "pull smollm2", "scripted/FILE"):
        assert way in told


def test_a_wrong_flag_does_not_fall_through_to_another_choice() -> None:
    with pytest.raises(ConfigError, match="Unknown provider"):
        choose(registry(KEYS), flag="nope/x")
    with pytest.raises(ConfigError, match="No provider is known"):
        choose(registry(KEYS), spec="zzzz")


@pytest.mark.parametrize(
    ("provider", "flag", "id"),
    [
        ("openai", "gpt-4o", "openai/gpt-4o"),
        ("openai", "openai/gpt-4o", "openai/gpt-4o"),
        ("openrouter", "anthropic/claude-sonnet-4.5", "openrouter/anthropic/claude-sonnet-4.5"),
        ("groq", "openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
        ("ollama", "qwen3:8b", "ollama/qwen3:8b"),
        ("scripted", "a.yaml", "scripted/a.yaml"),
    ],
)
def test_provider_and_model_flags_join(provider: str, flag: str, id: str) -> None:
    assert choose(registry(), provider=provider, flag=flag).id == id


def test_a_provider_alone_takes_its_default_model() -> None:
    assert choose(registry(), provider="anthropic").id.startswith("anthropic/claude-")
    with pytest.raises(ConfigError, match="no default model; add --model"):
        choose(registry(), provider="ollama")
    own = {"box": {"base_url": "http://b/v1", "models": {"big": {}, "small": {}}}}
    assert choose(registry(providers=own), provider="box").id == "box/big"


def test_two_providers_at_once_are_refused() -> None:
    with pytest.raises(ConfigError, match="name two providers"):
        choose(registry(), provider="openai", flag="anthropic/claude-sonnet-4-5")
    with pytest.raises(ConfigError, match="Unknown provider 'opnai'"):
        choose(registry(), provider="opnai", flag="x")


def test_a_provider_of_the_user_with_a_key_counts() -> None:
    own = {"box": {"base_url": "http://b/v1", "models": {"big": {}}}}
    assert choose(registry({"BOX_API_KEY": "k"}, providers=own)).id == "box/big"


def test_available_lists_facts_keys_and_uses(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/mine.gguf").write_bytes(b"GGUF")
    models = registry(KEYS, data_dir=tmp_path)
    rows = available(models, use_counts={"openai/gpt-4o": 3, "ollama/qwen3": 7})
    assert [(r.id, r.use_count) for r in rows[:2]] == [("ollama/qwen3", 7), ("openai/gpt-4o", 3)]
    by_id = {row.id: row for row in rows}
    assert len(by_id) == len(rows)
    mini = by_id["openai/gpt-4o-mini"]
    assert (mini.context_window, mini.key_present, mini.provider) == (128_000, True, "openai")
    assert mini.price is not None
    assert not by_id["anthropic/claude-sonnet-4-5"].key_present
    assert by_id["local/mine"].key_present
    assert len(rows) > 1000


async def test_auth_status_tells_where_keys_come_from() -> None:
    rows = {row.provider: row for row in await auth_status(registry(KEYS))}
    assert (rows["openai"].ok, rows["openai"].key_from) == (True, "OPENAI_API_KEY")
    assert not rows["anthropic"].ok
    assert "bridle connect anthropic" in rows["anthropic"].hint
    assert rows["ollama"].ok


async def test_a_checker_of_the_user_decides_first() -> None:
    async def login(provider: str) -> bool | None:
        return {"anthropic": True, "openai": False}.get(provider)

    rows = {row.provider: row for row in await auth_status(registry(KEYS), login)}
    assert (rows["anthropic"].ok, rows["anthropic"].key_from) == (True, "checker")
    assert not rows["openai"].ok
    assert rows["groq"].ok
    only = await auth_status(registry(KEYS), {"google": lambda _: True})
    assert {row.provider for row in only if row.ok} >= {"google", "openai", "groq"}


async def test_a_new_key_is_tried_with_one_small_request() -> None:
    models, plans = answering(says("ok"))
    tried = await try_key(models, "openai")
    assert (tried.ok, tried.kind) == (True, "works")
    assert plans[0].id == tried.model


@pytest.mark.parametrize(
    ("how", "kind"),
    [(401, "refused"), (404, "refused"), (503, "unavailable"), (429, "unavailable")],
)
async def test_a_key_that_does_not_work_is_told(how: int, kind: str) -> None:
    models, _ = answering(fails(how, message="the provider's words"))
    tried = await try_key(models, "openai", "gpt-4o")
    assert (tried.ok, tried.kind) == (False, kind)
    assert "the provider's words" in tried.message


async def test_trying_without_a_key_is_a_config_error() -> None:
    models, _ = answering(env={"X": "y"})
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        await try_key(models, "anthropic")
