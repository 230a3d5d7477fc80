"""`Harness.from_spec`: a spec in a program is what it is on the command line."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from bridle import Harness
from bridle.errors import SpecError
from bridle.testing import ScriptedModel, calls, says
from support.wire_server import serving

SPEC = """\
version: 1
name: demo
model_policy: {primary: openai/any}
execution_policy:
  sandbox: none
  permissions: [{tool: write_file, effect: allow}]
limits: {max_steps: 2}
checks:
  custom_steps: [{name: made, command: test -e out.txt}]
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BRIDLE_HOME", str(tmp_path / "home"))
    place = tmp_path / "project"
    place.mkdir()
    (place / "harness.yaml").write_text(SPEC)
    return place / "harness.yaml"


async def test_a_spec_works_in_its_directory(spec: Path) -> None:
    model = ScriptedModel([calls("write_file", path="out.txt", content="x"), says("made")])
    async with Harness.from_spec(spec, store="memory:", resolve_model=lambda _id: model) as harness:
        assert harness.id == "demo"
        session = await harness.session()
        result = await session.send("make it")
        assert (result.reason, result.verdict, result.text) == ("end_turn", "verified", "made")
        model.plays(*(calls("glob", pattern=f"{n}*") for n in range(4)))
        assert (await session.send("again")).reason == "recursion_limit"
    assert (spec.parent / "out.txt").read_text() == "x"


async def test_another_workspace(spec: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    model = ScriptedModel([calls("write_file", path="out.txt", content="x"), says("made")])
    harness = Harness.from_spec(
        str(spec), workspace=other, store="memory:", resolve_model=lambda _id: model
    )
    async with harness:
        result = await (await harness.session()).send("make it")
    assert result.verdict == "verified"
    assert (other / "out.txt").exists()
    assert not (spec.parent / "out.txt").exists()


def test_a_mistake_has_a_line(spec: Path) -> None:
    spec.write_text(SPEC.replace("max_steps", "max_stepz"))
    with pytest.raises(SpecError, match=r"harness\.yaml:7: .*Did you mean 'max_steps'"):
        Harness.from_spec(spec)


async def test_its_providers_are_listed_and_their_connections_closed(spec: Path) -> None:
    async with serving({"text": "hi"}) as server:
        spec.write_text(
            "version: 1\nname: own\nmodel_policy:\n  primary: acme/one\n  providers:\n"
            f"    acme: {{base_url: '{server.url}/v1',\n"
            "      models: {one: {context_window: 9000}}}\n"
        )
        async with Harness.from_spec(spec, store="memory:", trust=True) as harness:
            session = await harness.session()
            assert (await session.send("hello")).text == "hi"
            rows = await session.models.available()
            assert [row.context_window for row in rows if row.id == "acme/one"] == [9000]
            assert (await session.models.auth_status()).provider == "acme"
            assert server.open == 1  # kept for the next request
        with anyio.fail_after(10):
            while server.open:
                await anyio.sleep(0.01)
