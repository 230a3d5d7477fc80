"""Connecting a provider: the key is kept when it works, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.errors import ConfigError
from bridle.models.build import Plan
from bridle.models.connect import connect
from bridle.models.keys import Keys
from bridle.models.registry import ModelRegistry
from bridle.models.scripted import Item, ScriptedModel, fails, says
from models.streams import Sleeps


def setup(
    tmp_path: Path, *items: Item, env: dict[str, str] | None = None
) -> tuple[ModelRegistry, Keys, list[str | None]]:
    used: list[str | None] = []

    def build(plan: Plan) -> ScriptedModel:
        used.append(plan.endpoint.api_key)
        return ScriptedModel(items, id=plan.id, clock=Sleeps())

    keys = Keys(tmp_path / "keys")
    return ModelRegistry(env or {}, keys=keys, build=build), keys, used


async def test_a_key_that_works_is_kept(tmp_path: Path) -> None:
    registry, keys, used = setup(tmp_path, says("ok"))
    done = await connect(registry, "openai", " sk-new \n")
    assert done.tried is not None
    assert (done.place, done.tried.ok, used) == ("file", True, ["sk-new"])
    stored = keys.load("openai")
    assert stored is not None
    assert stored.key == "sk-new"


@pytest.mark.parametrize("old", [None, "sk-old"])
async def test_a_refused_key_is_not_kept(tmp_path: Path, old: str | None) -> None:
    registry, keys, _ = setup(tmp_path, fails(401, message="invalid x-api-key"))
    if old:
        keys.store("anthropic", old)
    done = await connect(registry, "anthropic", "sk-bad")
    assert done.place is None
    assert done.tried is not None
    assert "refused the key; it was not kept: invalid x-api-key" in done.tried.message
    kept = keys.load("anthropic")
    assert (kept.key if kept else None) == old


@pytest.mark.parametrize("how", [503, 404, 429])
async def test_a_key_that_could_not_be_tried_is_kept_and_told(tmp_path: Path, how: int) -> None:
    registry, keys, _ = setup(tmp_path, fails(how))
    done = await connect(registry, "groq", "gsk")
    assert done.tried is not None
    assert not done.tried.ok
    assert keys.names() == ["groq"]


async def test_a_variable_that_wins_is_told(tmp_path: Path) -> None:
    registry, keys, used = setup(tmp_path, says("ok"), env={"OPENAI_API_KEY": "from-env"})
    done = await connect(registry, "openai", "sk-new")
    assert (done.shadowed_by, done.tried, used) == ("OPENAI_API_KEY", None, [])
    assert keys.names() == ["openai"]


async def test_wrong_input_changes_nothing(tmp_path: Path) -> None:
    registry, keys, _ = setup(tmp_path, says("ok"))
    with pytest.raises(ConfigError, match="Unknown provider 'opnai'"):
        await connect(registry, "opnai", "k")
    with pytest.raises(ConfigError, match="empty"):
        await connect(registry, "openai", " ")
    with pytest.raises(ConfigError, match="no place"):
        await connect(ModelRegistry({}), "openai", "k")
    assert keys.names() == []
