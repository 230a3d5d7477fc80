"""Every run ends with one reason: how each of them comes about, and the limits that hold."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from bridle import Agent, Harness, Limits, Rules, Subagent, tool
from bridle.app.config import Ports
from bridle.testing import ScriptedModel, calls, fails, malformed, says, slow, stalls
from bridle.types.ledger import Price
from bridle.types.usage import Usage
from support.kernel import check_log
from support.outline import only, outline

CHEAP = Price(input=1e-6, output=1e-6)


@tool(category="read", read_only=True, concurrency_safe=True)
async def look(name: str = "") -> str:
    """Look."""
    return f"saw {name}"


async def run(opened: Any, model: ScriptedModel, **more: Any) -> tuple[Any, list[Any]]:
    harness = await opened(model, [look], **more)
    session = await harness.session()
    with anyio.fail_after(30):
        result = await session.send("go")
    events = await harness.store.events(session.thread_id)
    check_log(events)
    assert only(events, "agent_end") == [f"agent_end {result.reason}"]
    return result, events


ENDS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "end_turn": ([calls("look"), says("done")], {}),
    "max_tokens": ([says("and then", stop="max_tokens")], {}),
    "stop_sequence": ([says("STOP", stop="stop_sequence")], {}),
    "safety_violation": ([says("I cannot", stop="refused")], {}),
    "error": ([fails("authentication")], {}),
    "context_overflow": ([fails("context_overflow")], {}),
    "recursion_limit": ([calls("look", name=str(n)) for n in range(4)], {"max_steps": 3}),
    "loop_detected": ([calls("look", name="same") for _ in range(12)], {}),
    "budget_exceeded": ([calls("look"), says("no room")], {"max_tokens": 500}),
    "timeout": ([[says("one two"), stalls(60)]], {"timeout": 0.2}),
}


@pytest.mark.parametrize("reason", ENDS)
async def test_a_run_ends_with(opened: Any, reason: str) -> None:
    script, limits = ENDS[reason]
    model = ScriptedModel(script, price=CHEAP)
    result, _ = await run(opened, model, limits=Limits(**limits), ports=Ports())
    assert result.reason == reason
    natural = reason in ("end_turn", "stop_sequence")
    assert result.verdict == ("claimed" if natural else "stopped")
    assert (result.error is not None) == (reason in ("error", "context_overflow"))


@pytest.mark.parametrize(
    ("stop", "reason"), [("end_turn", "end_turn"), ("refused", "safety_violation")]
)
async def test_an_answer_without_a_word_ends_a_run(opened: Any, stop: Any, reason: str) -> None:
    model = ScriptedModel([calls("look"), says("", stop=stop), says("asked once too often")])
    result, _ = await run(opened, model)
    assert (result.reason, result.text, result.steps) == (reason, "", 2)
    assert len(model.requests) == 2


async def test_an_answer_without_a_word_does_not_end_what_was_sent_after_it(opened: Any) -> None:
    model = ScriptedModel([says(""), says("now")])
    harness = await opened(model, [look])
    session = await harness.session()
    assert (await session.send("go")).text == ""
    assert (await session.send("and?")).text == "now"


async def test_a_loop_is_told_by_the_arguments_not_by_the_failure(opened: Any) -> None:
    """Ten equal steps that all succeed are a loop; ten different ones are work."""
    work = [calls("look", name=str(n)) for n in range(20)]
    result, _ = await run(opened, ScriptedModel([*work, says("done")]))
    assert (result.reason, result.steps) == ("end_turn", 21)


async def test_a_loop_of_two_or_three_steps_is_a_loop(opened: Any) -> None:
    pattern = [calls("look", name=n) for n in ("a", "b", "c")] * 12
    result, _ = await run(opened, ScriptedModel(pattern))
    assert (result.reason, result.steps) == ("loop_detected", 30)


async def test_an_unknown_tool_is_told_the_names_in_the_same_run(opened: Any) -> None:
    result, events = await run(opened, ScriptedModel([calls("lok", name="x"), says("ah")]))
    assert result.reason == "end_turn"
    (end,) = [e for e in events if e.type == "tool_end"]
    assert (end.is_error, end.kind) == (True, "unknown_tool")
    assert "Available tools: look" in end.result


async def test_an_unknown_tool_again_and_again_is_a_loop(opened: Any) -> None:
    result, _ = await run(opened, ScriptedModel([calls("lok") for _ in range(12)]))
    assert (result.reason, result.steps) == ("loop_detected", 10)


async def test_bad_arguments_are_told_with_a_hint(opened: Any) -> None:
    script = [
        [
            calls("look", nme="x"),
            malformed("{not json", tool="look"),
            malformed("[1]", tool="look"),
        ],
        [malformed('{"name":' + '{"a":' * 150 + "1" + "}" * 151, tool="look")],
        says("sorry"),
    ]
    result, events = await run(opened, ScriptedModel(script))
    assert result.reason == "end_turn"
    told = [e.result for e in events if e.type == "tool_end"]
    assert all("Hint: look takes {name?}" in text for text in told)
    assert "nested deeper" in told[3]
    assert only(events, "tool_end") == ["tool_end invalid_arguments"] * 4


async def test_tool_calls_past_the_limit_do_not_run(opened: Any) -> None:
    batch = [calls("look", name=str(n)) for n in range(4)]
    limits = Limits(max_tool_calls=3)
    result, events = await run(opened, ScriptedModel([batch, says("x")]), limits=limits)
    assert result.reason == "recursion_limit"
    assert only(events, "tool_end") == ["tool_end limit", *["tool_end"] * 3]


async def test_a_budget_clamps_the_answer_and_then_ends_the_run(opened: Any) -> None:
    usage = Usage(input_tokens=100, output_tokens=900)
    model = ScriptedModel([calls("look", name=str(n)) for n in range(9)], usage=usage)
    result, events = await run(opened, model, limits=Limits(max_tokens=6000))
    assert result.reason == "budget_exceeded"
    assert result.usage.total_tokens <= 6000
    limits = [request.settings.max_output_tokens for request in model.requests]
    assert limits == sorted(limits, reverse=True)
    assert min(limits) >= 1024
    assert only(events, "budget_exhausted") == ["budget_exhausted"]


async def test_a_usd_cap_needs_a_price(opened: Any) -> None:
    unknown = ScriptedModel([says("x")], id="acme/one", price=None)
    result, _ = await run(opened, unknown, limits=Limits(max_usd=1.0))
    assert (result.reason, result.error.type) == ("error", "configuration")
    assert "model_policy.providers.acme.models.one.price" in result.error.message
    assert unknown.requests == []


@pytest.mark.parametrize(("price", "reason"), [(None, "error"), (CHEAP, "end_turn")])
async def test_the_usd_cap_of_an_agent_needs_a_price_too(price: Any, reason: str) -> None:
    model = ScriptedModel([says("x")], price=price)
    agent: Agent[Any, Any] = Agent(instructions="", limits=Limits(max_usd=1.0), model="acme/one")
    async with Harness(store="memory:", agent=agent, resolve_model=lambda _: model) as harness:
        result = await (await harness.session()).send("go")
    assert result.reason == reason
    assert len(model.requests) == (reason == "end_turn")


async def test_a_scripted_model_costs_nothing_and_runs_under_a_usd_cap(opened: Any) -> None:
    result, _ = await run(opened, ScriptedModel([says("x")]), limits=Limits(max_usd=1.0))
    assert (result.reason, result.cost_usd) == ("end_turn", 0.0)


async def test_a_usd_cap_is_kept(opened: Any) -> None:
    usage = Usage(input_tokens=1000, output_tokens=1000)
    model = ScriptedModel([calls("look", name=str(n)) for n in range(99)], usage=usage, price=CHEAP)
    result, _ = await run(opened, model, limits=Limits(max_usd=0.021))
    assert result.reason == "budget_exceeded"
    assert 0.01 < result.cost_usd <= 0.021


async def test_a_deadline_cuts_a_tool_and_gives_it_a_result(opened: Any) -> None:
    @tool(category="read", read_only=True)
    async def forever() -> str:
        """Never end."""
        await anyio.sleep_forever()
        return ""

    model = ScriptedModel([calls("forever")])
    harness = await opened(model, [forever], limits=Limits(timeout=0.2))
    session = await harness.session()
    result = await session.send("go")
    events = await harness.store.events(session.thread_id)
    assert result.reason == "timeout"
    assert outline(events)[-3:] == ["tool_end timeout", "info timer_expired", "agent_end timeout"]


async def test_a_deadline_keeps_the_text_that_was_said(opened: Any) -> None:
    model = ScriptedModel([[slow(20, 0.05), says("word " * 40)]])
    result, events = await run(opened, model, limits=Limits(timeout=0.3), ports=Ports())
    assert result.reason == "timeout"
    assert result.text.startswith("word")
    assert "message_end assistant timeout" in outline(events)


async def test_a_failing_model_is_asked_again_in_the_open(opened: Any) -> None:
    script = [fails(503), [says("half an ans"), fails("cut")], says("whole")]
    result, events = await run(opened, ScriptedModel(script))
    assert (result.reason, result.text) == ("end_turn", "whole")
    shown = only(events, "model_retried", "text_retracted", "error")
    assert shown == ["model_retried", "text_retracted", "model_retried"]


async def test_a_model_that_fails_for_good_is_an_error_that_does_not_raise(opened: Any) -> None:
    result, events = await run(opened, ScriptedModel([fails(503)] * 9))
    assert (result.reason, result.error.type) == ("error", "unavailable")
    assert result.error.retryable
    assert len(only(events, "model_retried")) == 4
    with pytest.raises(Exception, match="unavailable"):
        result.raise_for_error()


async def test_agents_are_not_nested_deeper_than_allowed(opened: Any) -> None:
    kid = Subagent("kid", instructions="kid")
    model = ScriptedModel([calls("subagent", agent_type="kid", task="x"), says("myself then")])
    result, events = await run(opened, model, subagents=[kid], limits=Limits(max_depth=0))
    assert result.reason == "end_turn"
    assert only(events, "tool_end") == ["tool_end recursion_limit"]


async def test_a_model_that_cannot_be_set_up_still_gives_the_run_an_end(opened: Any) -> None:
    def resolve(_id: str) -> Any:
        raise KeyError("no such thing")

    harness = await opened(None, [look], resolve_model=resolve)
    session = await harness.session(new=True)
    result = await session.send("go")
    assert (result.reason, result.error.type) == ("error", "configuration")
    assert "KeyError" in result.error.message


async def test_a_refusal_asks_for_nothing(opened: Any) -> None:
    script = [[says("no", stop="refused"), calls("look", name="x")]]
    result, events = await run(opened, ScriptedModel(script), permissions=Rules(profile="yolo"))
    assert result.reason == "safety_violation"
    assert only(events, "tool_start") == []
