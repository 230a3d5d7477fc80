"""Printed calls: found in all their shapes, whole or broken, and not where there are none."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import ModelError
from bridle.models.loose_json import Torn, Unreadable, loads
from bridle.models.printed_calls import find_calls
from bridle.models.scripted import (
    ScriptedModel,
    calls,
    cuts,
    fails,
    malformed,
    says,
    slow,
    thinks,
)
from bridle.models.text_calls import TextCalls
from bridle.models.text_tools import Renderer
from bridle.ports.model import ModelSettings, TextDelta
from bridle.types.content import Image, Text, ToolCall, ToolResult
from bridle.types.ledger import Price
from bridle.types.messages import Message, user_message
from bridle.types.usage import Usage
from models.corpus import CALLS, TOOLS, cases
from models.streams import answer, collect, request


def ids(*names: str) -> list[Any]:
    return [pytest.param(c, id=f"{name}: {c['id']}") for name in names for c in cases(name)]


def wrapped(text: str, **more: Any) -> TextCalls:
    return TextCalls(ScriptedModel([says(text, **more)]))


@pytest.mark.parametrize("case", ids(*CALLS, "field"))
async def test_every_shape_of_the_corpus(case: dict[str, Any]) -> None:
    got = await answer(wrapped(case["text"]), request(tools=TOOLS))
    assert [list(call) for call in got.calls] == case["calls"]
    if case["calls"]:
        assert got.finish is not None
        assert got.finish.stop == "tool_use"
    if "left" in case:
        assert got.text.strip() == case["left"]


@pytest.mark.parametrize("case", ids("benign"))
async def test_text_about_calls_stays_text(case: dict[str, Any]) -> None:
    got = await answer(wrapped(case["text"]), request(tools=TOOLS))
    assert got.calls == []
    assert got.text == case["text"]
    assert got.finish is not None
    assert got.finish.stop == "end_turn"


@pytest.mark.parametrize("case", ids("torn"))
async def test_half_a_call_is_passed_on_to_be_refused(case: dict[str, Any]) -> None:
    got = await answer(wrapped(case["text"]), request(tools=TOOLS))
    assert [tool for tool, _ in got.raw_calls] == [tool for tool, _ in case["calls"]]
    for _, arguments in got.raw_calls:
        with pytest.raises(json.JSONDecodeError):
            json.loads(arguments)


@pytest.mark.parametrize("chunks", [1, 3, 1000])
def test_the_corpus_in_any_chunks(chunks: int) -> None:
    import anyio

    async def run() -> None:
        for name in (*CALLS, "field", "benign"):
            for case in cases(name):
                model = TextCalls(ScriptedModel([[says(case["text"]), slow(chunks, 0)]]))
                got = await answer(model, request(tools=TOOLS))
                assert [list(c) for c in got.calls] == case["calls"], case["id"]
                if not case["calls"]:
                    assert got.text == case["text"]

    anyio.run(run)


_ARGS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "src/a b.py"}),
    ("read_file", {"path": "a.txt", "limit": 20, "offset": 0}),
    ("bash", {"command": "grep -rn 'x = 1' . | head -5"}),
    ("bash", {"command": 'echo "a, b" && printf "%s\\n" done', "timeout": 30}),
    ("write_file", {"path": "m.py", "content": 'def f(x):\n    return {"a": [x, None]}\n'}),
    ("write_file", {"path": "t.md", "content": "# T\n\n- a: b\n- c's d\n"}),
    ("grep", {"pattern": "\\bclass\\s+(\\w+)", "ignore_case": True}),
    ("list_files", {}),
]


def _shapes(tool: str, args: dict[str, Any]) -> dict[str, str]:
    body = json.dumps({"name": tool, "arguments": args})
    lines = json.dumps({"name": tool, "arguments": args}, indent=2)
    python = f"{tool}({', '.join(f'{k}={v!r}' for k, v in args.items())})"
    tags = "".join(
        f"<parameter={k}>\n{v if isinstance(v, str) else json.dumps(v)}\n</parameter>\n"
        for k, v in args.items()
    )
    return {
        "tags": f"<tool_call>\n{body}\n</tool_call>",
        "indented": f"<tool_call>\n{lines}\n</tool_call>",
        "fence": f"```json\n{lines}\n```",
        "bare": body,
        "mistral": f"[TOOL_CALLS]{tool}[ARGS]{json.dumps(args)}",
        "kimi": f"<|tool_call_begin|>functions.{tool}:0<|tool_call_argument_begin|>"
        f"{json.dumps(args)}<|tool_call_end|>",
        "qwen coder": f"<tool_call>\n<function={tool}>\n{tags}</function>\n</tool_call>",
        "python": f"[{python}]",
        "repr": "<tool_call>" + repr({"name": tool, "arguments": args}) + "</tool_call>",
    }


_DAMAGE = {
    "none": lambda text, _: text,
    "prose before": lambda text, _: f"I will do it now.\n\n{text}",
    "thinking before": lambda text, _: f"<think>hm, {{}}</think>\n{text}",
    "end token": lambda text, _: f"{text}<|im_end|>",
    "closing tag lost": lambda text, _: text.removesuffix("</tool_call>"),
    "trailing comma": lambda text, _: text.replace("}}", "},}"),
    "raw line breaks": lambda text, _: text.replace("\\n", "\n"),
    "a brace lost": lambda text, _: text.replace("}}", "}"),
    "a brace too many": lambda text, _: text.replace("}}", "}}}"),
    "spaces": lambda text, rng: text.replace(": ", " : ").replace(", ", " ,\n") if rng else text,
    "wrapped in a fence": lambda text, _: text if "```" in text else f"```\n{text}\n```",
}


def test_generated_calls_are_repaired_or_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Shapes and damage combined. What is found must be what was meant, or be refused as torn."""
    rng = random.Random(7)
    total = found = torn = missed = 0
    wrong: list[tuple[str, str]] = []
    worst: dict[str, int] = {}
    for tool, args in _ARGS:
        for shape, text in _shapes(tool, args).items():
            for damage, harm in _DAMAGE.items():
                broken = harm(text, rng)
                # these two change what stands inside some strings, too
                altered = damage == "raw line breaks" and "printf" in text
                exact = damage != "spaces" and not altered
                total += 1
                printed = find_calls(broken, TOOLS)
                if printed is None:
                    missed += 1
                    worst[f"{shape}, {damage}"] = worst.get(f"{shape}, {damage}", 0) + 1
                elif printed.calls[0].torn:
                    torn += 1
                else:
                    got = [(c.tool, json.loads(c.arguments)) for c in printed.calls]
                    if got == [(tool, args)] or not exact:
                        found += 1
                    else:
                        wrong.append((broken, str(got)))
    with capsys.disabled():
        print(
            f"\ngenerated calls: {found} of {total} read ({found / total:.1%}), "
            f"{torn} refused as torn, {missed} left as text, {len(wrong)} wrong"
        )
        for name, count in sorted(worst.items(), key=lambda item: -item[1])[:4]:
            print(f"  most often left as text: {name} ({count} of {len(_ARGS)})")
    assert wrong == []
    assert found / total > 0.9


def test_the_repair_rate_of_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for name in (*CALLS, "field", "torn", "benign"):
        hits = 0
        for case in cases(name):
            printed = find_calls(case["text"], TOOLS)
            got = [
                [c.tool, None if c.torn else json.loads(c.arguments)]
                for c in (printed.calls if printed else ())
            ]
            hits += got == case["calls"]
        rows.append((name, hits, len(cases(name))))
    with capsys.disabled():
        told = ", ".join(f"{name} {hits}/{count}" for name, hits, count in rows)
        print(f"\nrepair rate by corpus: {told}")
    assert all(hits == count for _, hits, count in rows)


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    printed = find_calls(text, TOOLS)
    assert printed is None or (printed.calls and 0 <= printed.start <= len(text))


@given(
    st.lists(
        st.sampled_from(
            (
                *("<tool_call>", "</tool_call>", '{"name": "bash"', "arguments", "```", "\n", "}"),
                *('"', "'", "read_file", "(", ")", "[", "]", "<function=bash>", "[TOOL_CALLS]"),
                *("<|tool_call>", "<arg_key>", "\\", ",", "call:bash", '<|"|>', "</think>"),
                *("{", ":", "Action: ", "<tools>", "<bash>", "</bash>", "to=functions.bash"),
            )
        ),
        max_size=30,
    )
)
def test_any_mixture_of_marks_is_survived(pieces: list[str]) -> None:
    printed = find_calls("".join(pieces), TOOLS)
    for call in printed.calls if printed else ():
        assert call.torn or isinstance(json.loads(call.arguments), dict)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_strict_json_is_read_as_it_is(value: Any) -> None:
    assert loads(json.dumps({"v": value})) == {"v": value}


@pytest.mark.parametrize("text", ['{"a": "x', '{"a": ', '{"a": 12', '{"a"', '{"a": "x\\'])
def test_torn_values_are_not_guessed(text: str) -> None:
    with pytest.raises(Torn):
        loads(text)


@pytest.mark.parametrize("text", ["{:}", "{]", '{"a" 1}', "{" * 5000, '{"a": 1} and more'])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        loads(text)


async def test_native_calls_pass_and_their_arguments_are_repaired() -> None:
    model = TextCalls(
        ScriptedModel(
            [
                [thinks("hm"), says("ok"), calls("read_file", path="a.txt"), calls("list_files")],
                malformed("{'path': 'a.txt',}", tool="read_file"),
                malformed('{"path": "a', tool="read_file"),
            ]
        )
    )
    got = await answer(model, request(tools=TOOLS))
    assert (got.thinking, got.text) == ("hm", "ok")
    assert got.calls == [("read_file", {"path": "a.txt"}), ("list_files", {})]
    assert (await answer(model, request(tools=TOOLS))).calls == [("read_file", {"path": "a.txt"})]
    torn = await answer(model, request(tools=TOOLS))
    assert torn.raw_calls == [("read_file", '{"path": "a')]
    assert (model.repairs.native, model.repairs.torn) == (4, 1)
    assert model.repairs.repaired == {"broken arguments": 1}


async def test_a_printed_call_beside_a_native_one_stays_text() -> None:
    text = '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'
    model = TextCalls(ScriptedModel([[says(text), calls("read_file", path="a.txt")]]))
    got = await answer(model, request(tools=TOOLS))
    assert got.calls == [("read_file", {"path": "a.txt"})]
    assert got.text == text


@pytest.mark.parametrize("stop", ["max_tokens", "refused"])
async def test_an_answer_that_was_cut_makes_no_call(stop: Any) -> None:
    text = '<tool_call>{"name": "bash", "arguments": {"command": "rm -rf build"}}</tool_call>'
    got = await answer(wrapped(text, stop=stop), request(tools=TOOLS))
    assert got.calls == []
    assert got.text == text
    assert got.finish is not None
    assert got.finish.stop == stop


async def test_a_stream_without_its_end_makes_no_call() -> None:
    text = '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'
    model = TextCalls(ScriptedModel([[says(text), cuts(100, how="silent")], [says(text), cuts(3)]]))
    got = await answer(model, request(tools=TOOLS))
    assert (got.calls, got.text, got.finish) == ([], text, None)
    with pytest.raises(ModelError):
        await answer(model, request(tools=TOOLS))


async def test_errors_usage_and_facts_of_the_wrapped_model_pass_through() -> None:
    price = Price(input=1.0)
    inner = ScriptedModel(
        [fails(503), says("x", usage=Usage(input_tokens=3))],
        id="ollama/q",
        price=price,
        context_window=99,
    )
    model = TextCalls(inner, "prompt")
    assert (model.id, model.price, model.context_window) == ("ollama/q", price, 99)
    with pytest.raises(ModelError):
        await collect(model, request(tools=TOOLS))
    assert (await collect(model, request(tools=TOOLS)))[-1].usage == Usage(input_tokens=3)


async def test_plain_text_is_streamed_as_it_comes() -> None:
    text = "A sentence that goes on for a while without anything like a call in it, and more. " * 5
    parts = await collect(wrapped(text), request(tools=TOOLS))
    assert len([p for p in parts if isinstance(p, TextDelta)]) > 10


async def test_code_for_the_reader_is_streamed_when_its_fence_closes() -> None:
    text = "Here:\n```python\nprint(1)\n```\nThat prints one.\n" + "More words follow here. " * 4
    parts = await collect(wrapped(text), request(tools=TOOLS))
    assert len([p for p in parts if isinstance(p, TextDelta)]) > 4


async def test_without_tools_nothing_is_looked_for() -> None:
    text = '<tool_call>{"name": "bash", "arguments": {}}</tool_call>'
    got = await answer(wrapped(text), request())
    assert (got.text, got.calls) == (text, [])


HISTORY = [
    user_message("m1", "count the words"),
    Message(
        id="m2",
        role="assistant",
        parts=(Text("I look."), ToolCall("c1", "read_file", {"path": "a.txt"})),
    ),
    Message(
        id="m3",
        role="tool",
        parts=(
            ToolResult("c1", "read_file", "one two", images=(Image("image/png", "AA=="),)),
            ToolResult("c2", "bash", "no such file", is_error=True),
        ),
    ),
]


@pytest.mark.parametrize("format", ["strict-json", "prompt"])
async def test_tools_and_history_are_told_as_text(format: Any) -> None:
    inner = ScriptedModel([says("two"), says("again")])
    model = TextCalls(inner, format)
    await answer(model, request(messages=HISTORY, tools=TOOLS, system="Be brief."))
    sent = inner.requests[0]
    assert sent.tools == ()
    assert sent.system.startswith("Be brief.\n\n# Tools\n- read_file: Read a file.")
    assert "path (string)" in sent.system
    assert "limit (integer, optional)" in sent.system
    assert [m.role for m in sent.messages] == ["user", "assistant", "user"]
    assert "I look." in sent.messages[1].text
    assert find_calls(sent.messages[1].text, TOOLS) is not None
    assert "Result of read_file:\none two" in sent.messages[2].text
    assert "Error from bash:\nno such file" in sent.messages[2].text
    assert any(isinstance(part, Image) for part in sent.messages[2].parts)


@pytest.mark.parametrize("format", ["strict-json", "prompt"])
async def test_what_the_prompt_asks_for_is_what_is_read(format: Any) -> None:
    inner = ScriptedModel([says("x")])
    await answer(TextCalls(inner, format), request(tools=TOOLS))
    told = inner.requests[0].system
    start = told.index("<tool_call>") if format == "prompt" else told.index('{"tool"')
    example = told[start:].split("\nWrite")[0].split("\nSeveral")[0]
    got = await answer(wrapped(example), request(tools=TOOLS))
    assert got.calls == [("read_file", {"path": "<path>"})]


async def test_parallel_calls_are_asked_for_only_when_allowed() -> None:
    inner = ScriptedModel([says("x"), says("x")])
    model = TextCalls(inner, "prompt")
    await answer(model, request(tools=TOOLS))
    await answer(model, request(tools=TOOLS, settings=ModelSettings(parallel_tool_calls=False)))
    assert "Several calls" in inner.requests[0].system
    assert "one call at a time" in inner.requests[1].system


def test_the_same_message_is_rendered_once() -> None:
    renderer = Renderer("prompt")
    first = renderer.render(request(messages=HISTORY, tools=TOOLS))
    longer = [*HISTORY, user_message("m4", "and now?")]
    second = renderer.render(request(messages=longer, tools=TOOLS))
    assert first.system is second.system
    assert all(a is b for a, b in zip(first.messages, second.messages, strict=False))


def test_tools_with_odd_schemas_are_described() -> None:
    from bridle.types.tools import ToolSpec

    odd = ToolSpec(
        name="odd",
        description="Line one.\n\nLine two.",
        parameters={
            "type": "object",
            "properties": {
                "mode": {"enum": ["a", "b"], "description": "which"},
                "many": {"type": "array", "items": {"type": "string"}},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "both": {"type": ["integer", "null"]},
                "any": True,
            },
            "required": ["mode", "many", "both"],
        },
    )
    told = Renderer("strict-json").render(request(tools=(odd,))).system
    for line in (
        "- odd: Line one. Line two.",
        "mode (a | b): which",
        "many (list of string)",
        "either (string | null, optional)",
        "both (integer | null)",
        "any (any, optional)",
    ):
        assert line in told
    assert '{"tool":"odd","args":{"mode":"a","many":[],"both":1}}' in told
    bare = ToolSpec(name="bare", description="", parameters={})
    assert "- bare" in Renderer("prompt").render(request(tools=(bare,))).system
