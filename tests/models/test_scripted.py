"""The scripted models: what they stream, how they fail, and what bad scripts are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle.errors import ConfigError, ModelError
from bridle.models.script_file import ScriptFile
from bridle.models.scripted import (
    ScriptedModel,
    calls,
    cuts,
    fails,
    malformed,
    says,
    slow,
    stalls,
    thinks,
    uses,
)
from bridle.ports.model import CallDelta, CallStart, Finish, TextDelta, ThinkingDelta
from bridle.types.ledger import Price
from bridle.types.messages import user_message
from bridle.types.usage import Usage
from models.streams import Sleeps, answer, collect, request


async def test_text_comes_in_several_deltas_and_one_finish() -> None:
    model = ScriptedModel([says("The file has three words, and no more than that.")])
    parts = await collect(model, request("count"))
    deltas = [p for p in parts if isinstance(p, TextDelta)]
    assert len(deltas) > 1
    assert "".join(d.text for d in deltas) == "The file has three words, and no more than that."
    assert [type(p) for p in parts].count(Finish) == 1
    assert parts[-1].stop == "end_turn"
    assert parts[-1].usage.output_tokens > 0
    assert parts[-1].usage.input_tokens > 0


async def test_short_texts_are_split_too() -> None:
    parts = await collect(ScriptedModel([says("ok")]), request())
    assert [p.text for p in parts if isinstance(p, TextDelta)] == ["o", "k"]


async def test_a_list_is_a_parallel_batch_and_may_hold_text() -> None:
    model = ScriptedModel(
        [[thinks("hm"), says("I look"), calls("read", path="a"), calls("read", path="b")]]
    )
    got = await answer(model, request())
    assert (got.thinking, got.text) == ("hm", "I look")
    assert got.calls == [("read", {"path": "a"}), ("read", {"path": "b"})]
    assert got.finish is not None
    assert got.finish.stop == "tool_use"


async def test_arguments_are_streamed_in_pieces_with_their_index() -> None:
    parts = await collect(ScriptedModel([[calls("a", x=1), calls("b", y="z")]]), request())
    assert [p.index for p in parts if isinstance(p, CallStart)] == [0, 1]
    second = "".join(p.text for p in parts if isinstance(p, CallDelta) and p.index == 1)
    assert json.loads(second) == {"y": "z"}
    ids = {p.provider_id for p in parts if isinstance(p, CallStart)}
    assert len(ids) == 2


async def test_an_argument_may_have_any_name() -> None:
    got = await answer(ScriptedModel([calls("t", tool="x", usage=1, text="y")]), request())
    assert got.calls == [("t", {"tool": "x", "usage": 1, "text": "y"})]


async def test_requests_are_kept_as_they_were_sent() -> None:
    model = ScriptedModel().plays(says("one"), says("two"))
    messages = [user_message("m1", "hello")]
    await collect(model, request(messages=messages))
    messages.append(user_message("m2", "again"))
    await collect(model, request(messages=messages))
    assert [len(r.messages) for r in model.requests] == [1, 2]
    assert model.left == 0


async def test_past_the_end_is_a_typed_error() -> None:
    model = ScriptedModel([says("only")])
    await collect(model, request())
    with pytest.raises(ModelError, match=r"request 2 has no answer.*plays") as caught:
        await collect(model, request())
    assert caught.value.kind == "script_ended"
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("how", "kind", "retryable"),
    [
        (401, "authentication", False),
        (400, "bad_request", False),
        (429, "rate_limit", True),
        (503, "unavailable", True),
        (408, "timeout", True),
        ("context_overflow", "context_overflow", False),
        ("refused", "refused", False),
    ],
)
async def test_failures_by_status_and_by_kind(how: object, kind: str, retryable: bool) -> None:
    model = ScriptedModel([fails(how, retry_after=2.5), says("better")])  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        await collect(model, request())
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)
    assert caught.value.retry_after == 2.5
    assert (await answer(model, request())).text == "better"


async def test_an_unknown_failure_is_refused_when_the_script_is_written() -> None:
    with pytest.raises(ValueError, match="Unknown failure 'brokn'"):
        fails("brokn")  # type: ignore[arg-type]


async def test_a_failure_in_the_middle_comes_after_what_was_said() -> None:
    model = ScriptedModel([[says("half an ans"), fails(503)]])
    seen: list[Any] = []
    with pytest.raises(ModelError):
        await collect(model, request(), seen)
    assert "".join(p.text for p in seen) == "half an ans"


async def test_a_cut_stream_has_no_finish() -> None:
    model = ScriptedModel(
        [
            [calls("bash", command="ls"), cuts(2)],
            [calls("bash", command="ls"), cuts(2, how="silent")],
        ]
    )
    seen: list[Any] = []
    with pytest.raises(ModelError) as caught:
        await collect(model, request(), seen)
    assert caught.value.kind == "cut"
    assert [type(p) for p in seen] == [CallStart, CallDelta]
    silent = await collect(model, request())
    assert [type(p) for p in silent] == [CallStart, CallDelta]


async def test_slow_and_stalled_answers_use_the_clock() -> None:
    clock = Sleeps()
    model = ScriptedModel(
        [[says("abcdefgh"), slow(4, 0.5)], [stalls(3), says("late")], stalls(60)], clock=clock
    )
    parts = await collect(model, request())
    assert [p.text for p in parts if isinstance(p, TextDelta)] == ["ab", "cd", "ef", "gh"]
    assert clock.slept == [0.5] * 4
    assert (await answer(model, request())).text == "late"
    assert clock.slept[-1] == 3
    with pytest.raises(ModelError, match="nothing for 60 s") as caught:
        await collect(model, request())
    assert caught.value.kind == "timeout"


async def test_a_stall_can_be_cancelled() -> None:
    model = ScriptedModel([stalls(3600)])
    with anyio.move_on_after(0.02) as scope:
        await collect(model, request())
    assert scope.cancelled_caught


async def test_malformed_arguments_are_sent_as_they_are() -> None:
    parts = await collect(ScriptedModel([malformed('{"path": "a', tool="read")]), request())
    assert "".join(p.text for p in parts if isinstance(p, CallDelta)) == '{"path": "a'


async def test_usage_can_be_set_per_item_and_for_all() -> None:
    own = Usage(input_tokens=7, output_tokens=3, cached_tokens=2)
    model = ScriptedModel([says("x", usage=own), [calls("t"), uses(5, 6, reasoning_tokens=4)]])
    assert (await collect(model, request()))[-1].usage == own
    assert (await collect(model, request()))[-1].usage == Usage(
        input_tokens=5, output_tokens=6, reasoning_tokens=4
    )
    fixed = ScriptedModel([says("x")], usage=own)
    assert (await collect(fixed, request()))[-1].usage == own


async def test_constructor_settings_and_stop_reasons() -> None:
    price = Price(input=1e-6, output=2e-6)
    model = ScriptedModel(
        [says("x", stop="max_tokens")], id="openai/fake", price=price, context_window=1000
    )
    assert (model.id, model.price, model.context_window) == ("openai/fake", price, 1000)
    finish = (await collect(model, request()))[-1]
    assert (finish.stop, finish.model) == ("max_tokens", "openai/fake")


async def test_an_item_may_depend_on_the_request() -> None:
    model = ScriptedModel([lambda r: says(f"you said {r.messages[-1].text}")])
    assert (await answer(model, request("hi"))).text == "you said hi"


async def test_private_thinking_comes_with_the_last_delta() -> None:
    parts = await collect(ScriptedModel([thinks("abc", private={"sig": "s"})]), request())
    private = [p.private for p in parts if isinstance(p, ThinkingDelta)]
    assert private[-1] == {"sig": "s"}
    assert not any(private[:-1])


SCRIPT = """
- thinks: where is it
  says: I look.
  calls:
    - {tool: read_file, args: {path: a.txt}}
    - {tool: glob}
- fails: {status: 503}
- says: done
  usage: {input_tokens: 9, output_tokens: 1}
"""


async def test_a_script_file_answers_by_step_without_state(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCRIPT)
    model = ScriptFile(path)
    assert model.id == f"scripted/{path}"
    for _ in range(2):
        got = await answer(model, request(step=1))
        assert (got.thinking, got.text) == ("where is it", "I look.")
        assert got.calls == [("read_file", {"path": "a.txt"}), ("glob", {})]
    assert (await collect(model, request(step=3)))[-1].usage.input_tokens == 9
    with pytest.raises(ModelError) as failed:
        await collect(model, request(step=2))
    assert failed.value.status == 503
    with pytest.raises(ModelError, match="holds 3 responses, step 4") as ended:
        await collect(model, request(step=4))
    assert ended.value.kind == "script_ended"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("says: hello", "must be a list"),
        ("- [1", "is not YAML"),
        ("- hello", "item 1: expected a map"),
        ("- {}", "item 1 is empty"),
        ("- says: a\n- sais: b", "item 2: Unknown field 'sais'.*Did you mean 'says'"),
        ("- says: [1]", "item 1: .*str"),
        ("- calls: [{args: {}}]", "item 1: .*tool"),
        ("- calls: [{tool: x, argz: {}}]", "item 1: .*argz"),
        ("- fails: {}", "needs a status or a kind"),
        ("- fails: {kind: boom}", "Unknown failure 'boom'"),
        ("- says: x\n  stop: later", "item 1: .*stop"),
    ],
)
async def test_bad_scripts_say_where_and_what(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told) as caught:
        ScriptFile(path)
    assert "bad.yaml" in str(caught.value)


async def test_a_missing_script_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Cannot read the script"):
        ScriptFile(tmp_path / "none.yaml")
