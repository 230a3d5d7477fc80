"""Hooks as step 4 of a decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bridle import Hook, HookContext, HookResult, Rules
from bridle.testing import ScriptedModel, calls, says
from bridle.types.permissions import Classified
from support.hooks import log_of

Opened = Callable[..., Any]
pytestmark = pytest.mark.anyio


def decide(**answer: Any) -> Callable[[HookContext], HookResult]:
    return lambda _context: HookResult(**answer)


async def one_call(
    opened: Opened, model: ScriptedModel, *hooks: Hook, **options: Any
) -> tuple[Any, list[Any]]:
    model.plays(calls("act", what="x"), says("done"))
    async with opened(*hooks, **options) as harness:
        session = await harness.session()
        result = await session.send("go")
        return result, await log_of(harness)


def of_type(events: list[Any], *types: str) -> list[Any]:
    return [event for event in events if event.type in types]


async def test_a_hook_denies_a_call_that_the_rules_allow(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    hook = Hook(event="PreToolUse", handler=decide(decision="deny", reason="not today"), name="no")
    result, events = await one_call(opened, model, hook)
    assert result.reason == "end_turn"
    assert acted == []
    [decided] = of_type(events, "permission_decided")
    assert (decided.effect, decided.rule, decided.layer) == ("deny", "hook:no", "harness")
    [ended] = of_type(events, "tool_end")
    assert ended.denied
    assert "not today" in ended.result
    [ran] = of_type(events, "hook_ran")
    assert (ran.outcome, ran.hook_type, ran.event) == ("blocked", "before", "tool:before_call")


async def test_without_the_hook_the_same_call_runs(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    await one_call(opened, model)
    assert acted == ["x"]


async def test_a_hook_allows_what_would_be_asked(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    hook = Hook(event="tool:before_call", type="validate", handler=decide(decision="allow"))
    result, _ = await one_call(opened, model, hook, permissions=Rules())
    assert result.reason == "end_turn"
    assert acted == ["x"]


async def test_no_hook_lifts_a_deny_and_none_is_asked(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    hook = Hook(event="PreToolUse", handler=decide(decision="allow"))
    rules = Rules(profile="yolo", tools={"act": "deny"})
    _, events = await one_call(opened, model, hook, permissions=rules)
    assert acted == []
    assert of_type(events, "hook_ran") == []
    assert of_type(events, "permission_decided")[0].effect == "deny"


async def test_a_hook_asks_and_the_user_answers(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    model.plays(calls("act", what="x"), says("done"))
    hook = Hook(event="PreToolUse", handler=decide(decision="ask", reason="look first"))
    async with opened(hook) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.reason == "awaiting"
        assert acted == []
        await session.approve(result.pending[0].id)
        assert (await session.wait(result.run_id)).reason == "end_turn"
    assert acted == ["x"]


async def test_changed_arguments_are_decided_from_the_start(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    def change(context: HookContext) -> HookResult | None:
        return HookResult(args={"what": "y"}) if context.args["what"] == "x" else None

    hook = Hook(event="tool:before_call", type="transform", handler=change)
    await one_call(opened, model, hook)
    assert acted == ["y"]
    acted.clear()
    rules = Rules(profile="yolo", patterns=(("act(y)", "deny"),))
    _, events = await one_call(opened, model, hook, permissions=rules)
    assert acted == []
    assert of_type(events, "permission_decided")[-1].effect == "deny"


async def test_changed_arguments_are_validated(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    hook = Hook(event="PreToolUse", handler=decide(args={"wrong": 1}))
    _, events = await one_call(opened, model, hook)
    assert acted == []
    [ended] = of_type(events, "tool_end")
    assert ended.is_error
    assert "A hook changed the arguments" in ended.result


async def test_arguments_that_never_come_to_rest_are_denied(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    def grow(context: HookContext) -> HookResult:
        return HookResult(args={"what": context.args["what"] + "!"})

    _, events = await one_call(opened, model, Hook(event="PreToolUse", handler=grow))
    assert acted == []
    assert "more than 5 times" in of_type(events, "tool_end")[0].result


@pytest.mark.parametrize("kind", ["before", "validate"])
async def test_a_hook_that_fails_denies_unless_it_says_otherwise(
    opened: Opened, model: ScriptedModel, acted: list[str], kind: str
) -> None:
    def broken(_context: HookContext) -> None:
        raise RuntimeError("oops")

    strict = Hook(event="tool:before_call", type=kind, handler=broken)
    _, events = await one_call(opened, model, strict)
    assert acted == []
    assert "RuntimeError: oops" in of_type(events, "tool_end")[0].result
    lenient = Hook(event="tool:before_call", type=kind, handler=broken, on_failure="allow")
    _, events = await one_call(opened, model, lenient)
    assert acted == ["x"]
    assert of_type(events, "hook_ran")[-1].outcome == "failed"


async def test_a_hook_that_hangs_is_a_hook_that_fails(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    import anyio

    async def hang(_context: HookContext) -> None:
        await anyio.sleep_forever()

    hook = Hook(event="PreToolUse", handler=hang, timeout=0.2)
    _, events = await one_call(opened, model, hook)
    assert acted == []
    assert "did not end within 0.2 s" in of_type(events, "tool_end")[0].result


async def test_hooks_run_by_priority_and_a_deny_is_the_last_word(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    seen: list[str] = []

    def note(name: str, **answer: Any) -> Callable[[HookContext], HookResult]:
        def handler(_context: HookContext) -> HookResult:
            seen.append(name)
            return HookResult(**answer)

        return handler

    await one_call(
        opened,
        model,
        Hook(event="PreToolUse", handler=note("low", decision="allow"), priority=1),
        Hook(event="PreToolUse", handler=note("high", decision="allow"), priority=99),
        Hook(event="PreToolUse", handler=note("middle", decision="deny"), priority=50),
    )
    assert seen == ["high", "middle"]
    assert acted == []


async def test_matcher_and_conditions_choose_the_calls(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    no = decide(decision="deny")
    model.plays(
        [calls("act", what="x"), calls("act", what="y"), calls("look", what="x")], says("done")
    )
    hooks = [
        Hook(event="PreToolUse", handler=no, matcher="act(x)"),
        Hook(
            event="PreToolUse",
            handler=no,
            matcher="lo*|nothing",
            conditions=[{"field": "tool_input.what", "equals": "z"}],
        ),
    ]
    async with opened(*hooks) as harness:
        await (await harness.session()).send("go")
        ran = await log_of(harness, "hook_ran")
    assert sorted(acted) == ["look x", "y"]
    assert len(ran) == 1


async def test_halt_ends_the_run_and_settles_every_call(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    model.plays([calls("act", what="x"), calls("act", what="y")], says("never"))
    hook = Hook(event="PreToolUse", handler=decide(halt=True, reason="enough"))
    async with opened(hook) as harness:
        result = await (await harness.session()).send("go")
        ends = await log_of(harness, "tool_end")
    assert result.reason == "safety_violation"
    assert result.error is not None
    assert "enough" in result.error.message
    assert acted == []
    assert len(ends) == 2


async def test_edited_arguments_are_shown_to_hooks_too(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    def guard(context: HookContext) -> HookResult:
        bad = context.args["what"] == "bad"
        return HookResult(decision="deny" if bad else "ask", reason="guarded")

    for edited, done in (("bad", []), ("good", ["good"])):
        acted.clear()
        model.plays(calls("act", what="x"), says("done"))
        async with opened(Hook(event="PreToolUse", handler=guard)) as harness:
            session = await harness.session()
            result = await session.send("go")
            await session.approve(result.pending[0].id, {"what": edited})
            assert (await session.wait(result.run_id)).reason == "end_turn"
        assert acted == done


async def test_a_hook_answers_in_the_place_of_the_user(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    hook = Hook(event="PermissionRequest", handler=decide(decision="allow"))
    result, events = await one_call(opened, model, hook, permissions=Rules())
    assert result.reason == "end_turn"
    assert acted == ["x"]
    acted.clear()
    _, events = await one_call(opened, model, hook, permissions=Rules(profile="yolo"))
    assert acted == ["x"]
    assert len(of_type(events, "hook_ran")) == 1  # nothing was asked the second time


async def test_the_calls_of_a_subagent_pass_the_same_hooks(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    from bridle import Subagent

    child = Subagent("helper", description="helps", instructions="help", allowed_tools=["act"])
    model.plays(
        calls("subagent", agent_type="helper", task="act"),
        calls("act", what="x"),
        says("child done"),
        says("done"),
    )
    hook = Hook(event="PreToolUse", handler=decide(decision="deny"), matcher="act")
    async with opened(hook, subagents=[child]) as harness:
        await (await harness.session()).send("go")
        [ran] = await log_of(harness, "hook_ran")
        [below] = [one for one in await harness.store.threads(hidden=True) if one.depth]
    assert acted == []
    assert ran.thread_id == below.id


async def test_what_a_hook_says_has_no_secrets(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    said = decide(decision="deny", reason=f"uses {token}", context=f"see {token}")
    hook = Hook(event="PreToolUse", handler=said)
    _, events = await one_call(opened, model, hook)
    assert "uses" in str(events)
    assert token not in str(events)
    assert token not in str(model.requests)


async def test_what_a_classifier_said_does_not_hold_for_changed_arguments(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    def harmless(_proposal: Any) -> Classified:
        return Classified(risk="low", confidence=1.0)

    options = {"permissions": Rules(), "classifier": harmless}
    watching = Hook(event="PreToolUse", handler=decide())
    result, _ = await one_call(opened, model, watching, **options)
    assert result.reason == "end_turn"
    assert acted == ["x"]
    acted.clear()
    changing = Hook(event="PreToolUse", handler=decide(args={"what": "y"}))
    result, _ = await one_call(opened, model, changing, **options)
    assert result.reason == "awaiting"
    assert acted == []


async def test_a_handler_cannot_change_a_call_behind_the_gate(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    def meddle(context: HookContext) -> None:
        context.data["tool_input"]["what"] = "evil"

    kinds = [("tool:before_call", "validate"), ("tool:after_call", "observe")]
    hooks = [Hook(event=event, type=kind, handler=meddle) for event, kind in kinds]
    _, events = await one_call(opened, model, *hooks)
    assert acted == ["x"]
    assert "evil" not in str(events)


async def test_a_handler_that_exits_fails(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    def leave(_context: HookContext) -> None:
        raise SystemExit(3)

    _, events = await one_call(opened, model, Hook(event="PreToolUse", handler=leave))
    assert acted == []
    assert "SystemExit" in of_type(events, "tool_end")[0].result


async def test_an_endless_answer_is_cut(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    hook = Hook(event="PreToolUse", handler=decide(decision="deny", reason="x" * 1_000_000))
    _, events = await one_call(opened, model, hook)
    [ran] = of_type(events, "hook_ran")
    assert len(ran.reason) < 70_000
    assert ran.reason.endswith("characters]")
