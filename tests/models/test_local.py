"""The local model: what it is shown, how its answers are read, and real weights when they are here.

Set BRIDLE_TEST_GGUF to the file of `bridle models pull smollm2` to run the last part.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import ConfigError, ModelError
from bridle.models.local import LocalModel, answer_so_far
from bridle.models.local_prompt import answer_schema, show, simplified
from bridle.models.registry import ModelRegistry
from bridle.models.weights import find_weights, pulled, weights_of
from bridle.ports.model import ModelSettings, TextDelta
from bridle.types.content import Image, Text, ToolCall, ToolResult
from bridle.types.ledger import Price
from bridle.types.messages import Message, user_message
from bridle.types.tools import ToolSpec
from models.corpus import TOOLS
from models.streams import answer, collect, request

AFTER_RESULT = [
    user_message("m1", "Run git status"),
    Message(id="m2", role="assistant", parts=(ToolCall("c", "bash", {"command": "git status"}),)),
    Message(id="m3", role="tool", parts=(ToolResult("c", "bash", "working tree clean"),)),
]


def test_calls_are_shown_by_example_one_for_each_tool() -> None:
    shown = show(request("Read a.txt", tools=TOOLS, system="Be brief."), brief=True)
    turns = shown.turns
    assert turns[0]["role"] == "system"
    assert turns[0]["content"].startswith("Be brief.\nAnswer with JSON")
    said = [json.loads(t["content"]) for t in turns if t["role"] == "assistant"]
    assert [s["tool"] for s in said if "tool" in s] == [tool.name for tool in TOOLS]
    assert turns[-1] == {"role": "user", "content": "Read a.txt"}
    assert shown.schema is not None
    assert len(shown.schema["anyOf"]) == len(TOOLS) + 1


def test_a_small_model_is_only_asked_to_retell_a_result() -> None:
    small = show(request(messages=AFTER_RESULT, tools=TOOLS), brief=True)
    assert small.schema is None
    assert small.turns[-1]["content"].endswith(
        "Run git status\nResult of bash:\nworking tree clean"
    )
    large = show(request(messages=AFTER_RESULT, tools=TOOLS), brief=False)
    assert large.schema is not None
    assert '"tool": "bash"' in large.turns[-2]["content"]


def test_long_results_are_clipped_for_a_small_model() -> None:
    long = Message(
        id="m3", role="tool", parts=(ToolResult("c", "bash", "a" * 50_000 + " the end"),)
    )
    shown = show(request(messages=[*AFTER_RESULT[:2], long], tools=TOOLS), brief=True)
    assert len(shown.turns[-1]["content"]) < 5_000
    assert shown.turns[-1]["content"].endswith("the end")


def test_without_tools_it_is_a_plain_chat() -> None:
    history = [user_message("1", "hi"), Message(id="2", role="assistant", parts=(Text("hello"),))]
    shown = show(request(messages=history, system="S"), brief=True)
    assert shown.turns == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
    ]
    schema = {"type": "object"}
    asked = request(settings=ModelSettings(output_schema=schema))
    assert show(asked, brief=True).schema == schema


def test_images_are_refused_in_words() -> None:
    seen = Message(id="1", role="user", parts=(Image("image/png", "AA=="),))
    with pytest.raises(ModelError, match="text only") as caught:
        show(request(messages=[seen]), brief=True)
    assert caught.value.kind == "bad_request"


def test_small_models_see_required_parameters_only() -> None:
    grep = next(tool for tool in TOOLS if tool.name == "grep")
    assert list(simplified(grep, brief=True).parameters["properties"]) == ["pattern"]
    assert list(simplified(grep, brief=False).parameters["properties"]) == [
        "pattern",
        "path",
        "ignore_case",
    ]
    listing = next(tool for tool in TOOLS if tool.name == "list_files")
    assert simplified(listing, brief=True).parameters["required"] == ["path"]


def test_any_schema_becomes_one_that_a_grammar_holds() -> None:
    odd = ToolSpec(
        name="odd",
        description="",
        parameters={
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/x"},
                "b": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
                "c": {"type": ["string", "null"]},
                "d": {"type": "array"},
                "e": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
                "f": True,
                "g": {"enum": [1, 2]},
            },
            "required": ["a", "b", "c", "d", "e", "f", "g", "gone"],
        },
    )
    made = simplified(odd, brief=False).parameters
    assert made["required"] == ["a", "b", "c", "d", "e", "f", "g"]
    assert made["properties"]["a"] == {"type": "string"}
    assert made["properties"]["b"] == {"type": "integer"}
    assert made["properties"]["d"] == {"type": "array", "items": {"type": "string"}}
    assert made["properties"]["g"] == {"enum": [1, 2]}
    empty = ToolSpec(name="none", description="", parameters={})
    assert answer_schema((empty,), brief=True)["anyOf"][0]["properties"]["tool"] == {
        "const": "none"
    }


@given(st.text(), st.integers(min_value=0))
def test_an_answer_is_read_while_it_comes(text: str, cut: int) -> None:
    for whole in (json.dumps({"answer": text}), json.dumps({"answer": text}, ensure_ascii=False)):
        assert answer_so_far(whole) == text
        part = answer_so_far(whole[: cut % (len(whole) + 1)])
        assert text.startswith(part)


def test_a_call_is_not_read_as_an_answer() -> None:
    assert answer_so_far('{"tool": "bash", "args": {"command": "x"}}') == ""
    assert answer_so_far('{ "answer" : "a\\n') == "a\n"


def test_weights_are_found_by_name_and_by_file(tmp_path: Path) -> None:
    for name in ("zeta", "smollm2", "alpha"):
        path = weights_of(name, tmp_path)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"GGUF")
    assert pulled(tmp_path) == ["smollm2", "alpha", "zeta"]
    assert find_weights("alpha", tmp_path) == tmp_path / "models/alpha.gguf"
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert find_weights(str(own), tmp_path) == own
    assert find_weights("alpha.gguf", tmp_path) == tmp_path / "models/alpha.gguf"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("smollm2", "bridle models pull smollm2"),
        ("smolm2", "Did you mean 'smollm2'"),
        ("none.gguf", "There is no file none.gguf"),
    ],
)
def test_missing_weights_say_how_to_get_them(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        ModelRegistry({}, data_dir=tmp_path).resolve(f"local/{name}")
    with pytest.raises(ConfigError):
        find_weights(name, None)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"GGU"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="not a GGUF file"):
        LocalModel(path)


async def test_damaged_weights_are_a_clear_error(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 5000)
    with pytest.raises(ConfigError, match="damaged"):
        await collect(LocalModel(path), request())


@pytest.fixture(scope="module")
def real() -> LocalModel:
    pytest.importorskip("xllamacpp")
    file = os.environ.get("BRIDLE_TEST_GGUF")
    if not file:
        pytest.skip("BRIDLE_TEST_GGUF names no weights")
    return LocalModel(Path(file), id="local/smollm2")


async def test_real_weights_answer_and_stream(real: LocalModel) -> None:
    parts = await collect(real, request("What is the capital of France?", system="Be brief."))
    assert "Paris" in "".join(p.text for p in parts if isinstance(p, TextDelta))
    assert len([p for p in parts if isinstance(p, TextDelta)]) > 2
    assert parts[-1].usage.output_tokens > 0
    assert real.price == Price()


async def test_real_weights_make_calls_that_can_be_read(real: LocalModel) -> None:
    got = await answer(real, request("Run git status", tools=TOOLS, system="You are an agent."))
    assert got.calls == [("bash", {"command": "git status"})]
    assert got.finish is not None
    assert got.finish.stop == "tool_use"


async def test_real_weights_retell_a_result(real: LocalModel) -> None:
    got = await answer(real, request(messages=AFTER_RESULT, tools=TOOLS))
    assert "clean" in got.text
    assert got.calls == []


async def test_real_weights_stop_when_nobody_listens(real: LocalModel) -> None:
    with anyio.move_on_after(1.5) as scope:
        await collect(
            real,
            request("Tell a very long story.", settings=ModelSettings(max_output_tokens=2000)),
        )
    assert scope.cancelled_caught
    stream = real.stream(request("Tell a very long story."))
    await anext(stream)
    await stream.aclose()
    assert (await answer(real, request("Hi"))).text


async def test_real_weights_say_when_a_request_is_too_long(real: LocalModel) -> None:
    with pytest.raises(ModelError) as caught:
        await collect(real, request("word " * 6000))
    assert caught.value.kind == "context_overflow"


async def test_real_weights_cut_an_answer_at_its_limit(real: LocalModel) -> None:
    short = ModelSettings(max_output_tokens=3)
    got = await answer(real, request("Run git status", tools=TOOLS, settings=short))
    assert got.calls == []
    assert got.finish is not None
    assert got.finish.stop == "max_tokens"
    real.close()
