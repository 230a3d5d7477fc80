"""Hooks at every moment but the gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bridle import Hook, HookContext, HookResult, Limits, Rules, Subagent
from bridle.errors import ConfigError
from bridle.hooks.define import bind
from bridle.hooks.moments import CLAUDE, MOMENTS, TYPES
from bridle.testing import ScriptedModel, calls, fails, says
from support.hooks import log_of

Opened = Callable[..., Any]
pytestmark = pytest.mark.anyio


def decide(**answer: Any) -> Callable[[HookContext], HookResult]:
    return lambda _context: HookResult(**answer)


class Watch:
    """Remembers what hooks were told."""

    def __init__(self) -> None:
        self.seen: list[HookContext] = []

    def __call__(self, context: HookContext) -> None:
        self.seen.append(context)

    @property
    def events(self) -> list[str]:
        return [context.event for context in self.seen]


def texts(request: Any) -> str:
    return "\n".join(
        getattr(part, "text", "") for message in request.messages for part in message.parts
    )


async def test_what_the_user_says_can_be_changed_and_added_to(
    opened: Opened, model: ScriptedModel
) -> None:
    model.plays(says("ok"))
    hooks = [
        Hook(
            event="conversation:message",
            type="transform",
            handler=lambda context: context.prompt.replace("secret", "[gone]"),
        ),
        Hook(event="UserPromptSubmit", handler=decide(context="It is Monday."), name="day"),
    ]
    async with opened(*hooks) as harness:
        session = await harness.session()
        await session.send("my secret")
        told = texts(model.requests[0])
        assert "my [gone]" in told
        assert "secret" not in told
        assert "[hook day] It is Monday." in told
        kept = await session.threads.messages()
        assert "secret" not in str(kept)
        [started] = await log_of(harness, "agent_start")
        assert started.task == "my [gone]"


async def test_a_blocked_prompt_never_reaches_the_model(
    opened: Opened, model: ScriptedModel
) -> None:
    model.plays(says("never"))
    hook = Hook(event="UserPromptSubmit", handler=decide(decision="block", reason="not that"))
    async with opened(hook) as harness:
        session = await harness.session()
        result = await session.send("do that")
        assert result.reason == "safety_violation"
        assert "not that" in result.error.message
        assert model.requests == []
        assert not await session.threads.messages()


async def test_a_steer_is_shown_to_hooks_as_well(opened: Opened, model: ScriptedModel) -> None:
    model.plays(calls("look", what="x"), says("done"))
    steered = False
    async with opened(
        Hook(
            event="conversation:message",
            type="transform",
            handler=lambda context: context.prompt.upper(),
        )
    ) as harness:
        session = await harness.session()

        def hear(event: Any) -> None:
            nonlocal steered
            steered = steered or event.type == "tool_start"

        session.events.subscribe(hear)
        async with session.start("begin") as run:
            async for event in run.events():
                if event.type == "tool_start":
                    await session.steer("also this")
        assert (await run).reason == "end_turn"
    told = texts(model.requests[-1])
    assert "BEGIN" in told
    assert "ALSO THIS" in told
    assert "also this" not in told


async def test_output_can_be_changed_commented_on_and_withheld(
    opened: Opened, model: ScriptedModel
) -> None:
    cases = [
        (Hook(event="tool:after_call", type="transform", handler=lambda _c: "short"), "short"),
        (
            Hook(event="PostToolUse", handler=decide(context="format it"), name="f"),
            "saw x\n\n[hook f] format it",
        ),
        (
            Hook(event="tool:after_call", type="validate", handler=decide(decision="deny")),
            "withholds its result",
        ),
    ]
    for hook, expected in cases:
        model.plays(calls("look", what="x"), says("done"))
        async with opened(hook) as harness:
            await (await harness.session()).send("go")
            ends = await log_of(harness, "tool_end")
            assert expected in ends[-1].result
            assert expected in model.requests[-1].messages[-1].parts[0].text


async def test_failing_after_and_observe_hooks_are_events_only(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    def broken(_context: HookContext) -> None:
        raise RuntimeError("oops")

    model.plays(calls("act", what="x"), says("done"))
    names = ["PostToolUse", "SessionStart"]
    hooks = [Hook(event=name, handler=broken) for name in names]
    hooks += [
        Hook(event="conversation:end", type="after", handler=broken),
        Hook(event="tool:before_call", type="observe", handler=broken),
        Hook(event="tool:after_call", type="transform", handler=broken),
    ]
    async with opened(*hooks) as harness:
        result = await (await harness.session()).send("go")
        ran = await log_of(harness, "hook_ran")
    assert result.reason == "end_turn"
    assert acted == ["x"]
    assert [event.outcome for event in ran] == ["failed"] * 5


async def test_an_observer_cannot_decide(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    model.plays(calls("act", what="x"), says("done"))
    no = decide(decision="deny", halt=True, context="hear me")
    async with opened(Hook(event="tool:before_call", type="observe", handler=no)) as harness:
        await (await harness.session()).send("go")
        assert [event.outcome for event in await log_of(harness, "hook_ran")] == ["passed"]
    assert acted == ["x"]


async def test_a_stop_hook_keeps_the_run_on_and_not_for_ever(
    opened: Opened, model: ScriptedModel
) -> None:
    model.plays(*[says(f"finished {number}") for number in range(20)])
    active: list[bool] = []

    def more(context: HookContext) -> HookResult:
        active.append(context.data["stop_hook_active"])
        return HookResult(decision="block", reason="run the tests")

    async with opened(Hook(event="Stop", handler=more)) as harness:
        result = await (await harness.session()).send("go")
    assert result.reason == "end_turn"
    assert len(model.requests) == 9
    assert "run the tests" in texts(model.requests[1])
    assert active[:2] == [False, True]


async def test_a_stop_hook_that_fails_keeps_the_run_on_once(
    opened: Opened, model: ScriptedModel
) -> None:
    model.plays(*[says(f"finished {number}") for number in range(20)])

    def broken(_context: HookContext) -> None:
        raise RuntimeError("oops")

    async with opened(Hook(event="Stop", handler=broken)) as harness:
        result = await (await harness.session()).send("go")
    assert result.reason == "end_turn"
    assert len(model.requests) == 2
    assert "RuntimeError: oops" in texts(model.requests[1])


async def test_a_hook_that_always_comments_hides_no_loop(
    opened: Opened, model: ScriptedModel
) -> None:
    model.plays(*[calls("look", what="x") for _ in range(30)])
    hook = Hook(event="PreToolUse", handler=decide(context="again?"))
    async with opened(hook) as harness:
        result = await (await harness.session()).send("go")
    assert result.reason == "loop_detected"
    assert "[hook PreToolUse[0]] again?" in texts(model.requests[1])


async def test_observers_hear_every_moment_that_exists(
    opened: Opened, model: ScriptedModel, acted: list[str]
) -> None:
    watch = Watch()
    hooks = [
        Hook(event=name, type="observe", handler=watch)
        for name, moment in MOMENTS.items()
        if moment.missing is None
    ]
    child = Subagent("helper", description="helps", instructions="help", allowed_tools=["look"])
    model.plays(
        calls("subagent", agent_type="helper", task="look"),
        says("child done"),
        [calls("act", what="x"), calls("fail")],
        calls("task_write", tasks=[{"content": "one", "status": "completed"}]),
        calls("submit_plan", title="A plan", plan="do it"),
        says("done"),
    )
    rules = Rules(profile="yolo", patterns=(("act(x)", "deny"),))
    async with opened(*hooks, permissions=rules, subagents=[child]) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.reason == "awaiting"
        await session.answer_plan(result.pending[0].id, approved=True)
        assert (await session.wait(result.run_id)).reason == "end_turn"
        names = await log_of(harness, "hook_ran")
        assert [event.event for event in names] != []
    expected = {name for name, moment in MOMENTS.items() if moment.missing is None}
    assert expected - set(watch.events) == {
        "context:overflow",  # the next test
        "permission:request",
        "system:error",
    }


async def test_errors_overflows_and_requests_are_told(opened: Opened, model: ScriptedModel) -> None:
    watch = Watch()
    hooks = [
        Hook(event=name, type="after", handler=watch)
        for name in ("system:error", "context:overflow", "permission:request", "notification")
    ]
    model.plays(fails("context_overflow"), calls("act", what="x"))
    async with opened(*hooks, permissions=Rules()) as harness:
        session = await harness.session()
        assert (await session.send("go")).reason == "context_overflow"
        assert (await session.send("again")).reason == "awaiting"
        await session.abort()
    assert watch.events == [
        "context:overflow",
        "system:error",
        "permission:request",
        "notification",
    ]
    assert watch.seen[2].args == {"what": "x"}


async def test_the_end_of_time_is_told_once(opened: Opened, model: ScriptedModel) -> None:
    import anyio

    from bridle import tool

    @tool(category="read", read_only=True)
    async def wait() -> str:
        """Wait."""
        await anyio.sleep_forever()
        return ""

    watch = Watch()
    model.plays(calls("wait"))
    hook = Hook(event="conversation:end", type="after", handler=watch)
    async with opened(hook, tools=[wait], limits=Limits(timeout=0.5)) as harness:
        assert (await (await harness.session()).send("go")).reason == "timeout"
    assert [context.data["reason"] for context in watch.seen] == ["timeout"]


@pytest.mark.parametrize("event", list(MOMENTS))
@pytest.mark.parametrize("kind", TYPES)
def test_every_pair_of_moment_and_type_is_accepted_or_explained(event: str, kind: str) -> None:
    moment = MOMENTS[event]
    hook = Hook(event=event, type=kind, handler=print)
    if moment.missing is not None:
        with pytest.raises(ConfigError, match=f"not available yet: there is no {moment.missing}"):
            bind(hook, 0)
    elif kind in moment.types:
        assert bind(hook, 0).type == kind
    else:
        with pytest.raises(ConfigError, match=f"There is no '{kind}' hook on"):
            bind(hook, 0)


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (Hook(event="PreToolUs", handler=print), "Did you mean 'PreToolUse'"),
        (Hook(event="Elicitation", handler=print), "not available yet"),
        (Hook(event="memory:store", type="after", handler=print), "there is no memory"),
        (Hook(event="tool:before_call", handler=print), "needs a type"),
        (Hook(event="PreToolUse"), "has none"),
        (Hook(event="PreToolUse", handler=print, command="x"), "handler and command"),
        (Hook(event="PreToolUse", handler=print, priority=101), "from 0 to 100"),
        (Hook(event="PreToolUse", handler=print, timeout=0), "timeout of a hook"),
        (Hook(event="PreToolUse", url="ftp://x"), "http:// or https://"),
        (Hook(event="PreToolUse", command=" "), "is empty"),
        (Hook(event="Stop", handler=print, matcher="bash"), "has no matcher"),
        (Hook(event="PostToolUse", handler=print, on_failure="block"), "never blocks"),
        (
            Hook(event="PreToolUse", handler=print, conditions=[{"field": "tol_name", "in": []}]),
            "Did you mean 'tool_name'",
        ),
        (
            Hook(event="PreToolUse", handler=print, conditions=[{"field": "mode", "equal": 1}]),
            "Did you mean 'equals'",
        ),
    ],
)
def test_a_wrong_hook_is_refused_with_what_to_do(hook: Hook, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        bind(hook, 0)


def test_what_is_offered_instead_is_available() -> None:
    with pytest.raises(ConfigError) as raised:
        bind(Hook(event="tool:befor_call", type="before", command="true"), 0)
    told = str(raised.value)
    assert "Did you mean 'tool:before_call'?" in told
    assert not any(name in told for name in ("PreCompact", "memory:", "mcp:", "context:compress"))


def test_every_claude_name_leads_to_a_moment() -> None:
    assert {moment for moment, _ in CLAUDE.values()} <= set(MOMENTS)
