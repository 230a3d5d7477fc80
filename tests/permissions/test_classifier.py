"""Step 9 in real runs: who is asked, how long, what is recorded, and that a replay asks nobody."""

from __future__ import annotations

import anyio
import pytest

from bridle import Agent, Harness, Limits, Ports, Rules, tool
from bridle.ports.clock import SystemClock
from bridle.ports.model import CallDelta, CallStart, Finish, TextDelta
from bridle.runs.replay.driver import replay_thread
from bridle.testing import ScriptedModel, calls, fails, says, uses
from bridle.types import events as ev
from bridle.types.permissions import Classified
from bridle.types.usage import Usage


class Hurried(SystemClock):
    """Two seconds are over at once; every other deadline is as it is."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def deadline(self, seconds: float) -> anyio.CancelScope:
        self.asked.append(seconds)
        return anyio.move_on_after(0.02 if seconds == 2.0 else seconds)


@tool(category="other")
def deploy(where: str) -> str:
    """Deploy."""
    return f"deployed to {where}"


@tool(category="read", read_only=True, concurrency_safe=True)
def look(where: str) -> str:
    """Look."""
    return where


async def run(classifier, *items, rules=None, model=None, **more):
    """One run; the decisions of its log, its result, and the harness's model."""
    model = model or ScriptedModel([*items, says("done")])
    options = {"resolve_model": lambda _id: model, **more}
    async with Harness(
        store="memory:",
        agent=Agent("x", tools=[deploy, look]),
        permissions=rules or Rules(),
        classifier=classifier,
        **options,
    ) as harness:
        session = await harness.session()
        result = await session.send("go")
        events = await harness.store.events(session.thread_id)
        replayed = await replay_thread(harness.store, session.thread_id)
        assert replayed.equal, replayed.divergence
        return [e for e in events if isinstance(e, ev.PermissionDecided)], result, model


async def test_a_call_of_low_risk_runs_without_being_asked_for():
    seen = []

    def judge(proposal):
        seen.append(proposal)
        return Classified(risk="low", confidence=0.97, reason="a copy")

    (decided,), result, _ = await run(judge, calls("deploy", where="test"))
    assert (decided.effect, decided.rule, decided.layer) == ("allow", "classifier", "classifier")
    assert decided.trace[-1].stage == "classifier"
    assert decided.trace[-1].why == "low risk, confidence 0.97: a copy"
    assert result.reason == "end_turn"
    assert [(p.tool, p.args, p.category) for p in seen] == [("deploy", {"where": "test"}, "other")]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (("low", 0.9), "low risk, confidence 0.90"),
        (("medium", 1.0), "medium risk, confidence 1.00"),
        ({"risk": "high", "confidence": 0.99}, "high risk, confidence 0.99"),
        (("low", 1.5), "it failed: ValueError"),
        (("low", float("nan")), "it failed: ValueError"),
        (("none", 1.0), "it failed: ValidationError"),
        ("fine by me", "it failed: ValidationError"),
        (None, "it failed: ValidationError"),
    ],
)
async def test_anything_else_is_asked(said, why):
    (decided,), result, _ = await run(lambda _p: said, calls("deploy", where="x"))
    assert decided.effect == "ask"
    assert [s.why for s in decided.trace if s.stage == "classifier"] == [why]
    assert result.pending[0].tool == "deploy"


async def test_one_that_fails_or_takes_too_long_is_asked():
    clock = Hurried()

    async def slow(_proposal):
        await anyio.sleep(60)

    def broken(_proposal):
        raise RuntimeError("secret words")

    for classifier, why in ((slow, "no answer within 2 s"), (broken, "it failed: RuntimeError")):
        (decided,), result, _ = await run(
            classifier, calls("deploy", where="x"), ports=Ports(clock=clock)
        )
        assert decided.effect == "ask"
        assert [s.why for s in decided.trace if s.stage == "classifier"] == [why]
        assert len(result.pending) == 1
    assert clock.asked.count(2.0) == 2


async def test_only_what_a_default_would_ask_is_shown_to_it():
    seen = []

    def judge(proposal):
        seen.append(proposal.args["where"])
        return ("low", 1.0)

    for rules, effects in (
        (Rules(tools={"deploy": "ask"}), ["allow", "ask"]),
        (Rules(tools={"deploy": "deny"}), ["allow", "deny"]),
        (Rules(patterns=[("deploy(prod)", "ask")]), ["allow", "ask"]),
    ):
        batch = [calls("look", where="a"), calls("deploy", where="prod")]
        decided, _, _ = await run(judge, batch, rules=rules)
        assert [d.effect for d in decided] == effects
    assert seen == []
    decided, _, _ = await run(
        judge, calls("deploy", where="c"), rules=Rules(categories={"other": "ask"})
    )
    assert seen == ["c"]
    assert decided[0].effect == "allow"


async def test_calls_of_a_batch_are_looked_at_together():
    meeting = anyio.Event()
    waiting = []

    async def judge(proposal):
        waiting.append(proposal)
        if len(waiting) == 3:
            meeting.set()
        await meeting.wait()
        return ("low", 0.99)

    batch = [calls("deploy", where=str(n)) for n in range(3)]
    decided, result, _ = await run(judge, batch)
    assert [d.effect for d in decided] == ["allow"] * 3
    assert result.reason == "end_turn"


async def test_a_model_judges_and_its_use_is_counted():
    agent = ScriptedModel([[calls("deploy", where="x"), uses(100, 10)], says("done")])
    judge = ScriptedModel(
        [[says('Sure: {"risk": "low", "confidence": 0.95, "reason": "ok"}'), uses(50, 5)]]
    )
    (decided,), result, _ = await run(
        "judges/small",
        model=agent,
        resolve_model=lambda name: judge if name == "judges/small" else agent,
        limits=Limits(max_tokens=100_000),
    )
    assert decided.effect == "allow"
    assert decided.trace[-1].why == "low risk, confidence 0.95: ok"
    (request,) = judge.requests
    assert request.tools == ()
    assert '"where":"x"' in str(request.messages)
    assert result.usage.input_tokens >= 150


@pytest.mark.parametrize("item", [says("no idea"), fails("unavailable"), says('{"risk": "low"}')])
async def test_a_model_that_says_nothing_useful_means_ask(item):
    agent = ScriptedModel([calls("deploy", where="x"), says("done")])
    judge = ScriptedModel([item])
    (decided,), _, _ = await run(
        "judges/small",
        model=agent,
        resolve_model=lambda name: judge if name == "judges/small" else agent,
    )
    assert decided.effect == "ask"
    assert len(judge.requests) == 1


async def test_a_call_that_is_too_long_to_be_seen_whole_is_asked():
    agent = ScriptedModel([calls("deploy", where="x" * 10_000), says("done")])
    judge = ScriptedModel([says('{"risk": "low", "confidence": 1}')])
    (decided,), _, _ = await run(
        "judges/small",
        model=agent,
        resolve_model=lambda name: judge if name == "judges/small" else agent,
    )
    assert decided.effect == "ask"
    assert judge.requests == []


async def test_it_looks_at_a_call_while_the_next_one_is_still_written():
    """The second call only comes when the first has been judged."""
    judged = anyio.Event()

    class Model:
        id, context_window, price = "m/m", None, None

        async def stream(self, request):
            if request.step > 1:
                yield TextDelta("done")
                yield Finish(stop="end_turn", usage=Usage())
                return
            for index in range(2):
                yield CallStart(index=index, tool="deploy")
                yield CallDelta(index=index, text=f'{{"where": "{index}"}}')
                if index == 1:
                    with anyio.fail_after(20):
                        await judged.wait()
            yield Finish(stop="tool_use", usage=Usage())

    def judge(proposal):
        judged.set()
        return ("low", 0.99)

    decided, result, _ = await run(judge, model=Model())
    assert [d.effect for d in decided] == ["allow", "allow"]
    assert result.text == "done"


async def test_what_was_said_of_an_incomplete_call_does_not_count():
    """Deltas of two calls that are mixed: the first was judged before it was whole."""

    class Model:
        id, context_window, price = "m/m", None, None

        async def stream(self, request):
            if request.step > 1:
                yield TextDelta("done")
                yield Finish(stop="end_turn", usage=Usage())
                return
            yield CallStart(index=0, tool="deploy")
            yield CallStart(index=1, tool="deploy")
            yield CallDelta(index=0, text='{"where": "prod"}')
            yield CallDelta(index=1, text='{"where": "test"}')
            await anyio.sleep(0.05)
            yield Finish(stop="tool_use", usage=Usage())

    def judge(proposal):
        return ("low", 0.99) if proposal.args.get("where") != "prod" else ("high", 1.0)

    decided, result, _ = await run(judge, model=Model())
    assert [d.effect for d in decided] == ["ask", "allow"]
    assert [p.args["where"] for p in result.pending] == ["prod"]


async def test_an_interrupt_while_it_thinks_keeps_the_answer():
    thinking = anyio.Event()

    async def slow(_proposal):
        thinking.set()
        await anyio.sleep(60)

    model = ScriptedModel([[says("I deploy."), calls("deploy", where="x")], says("done")])
    async with Harness(
        store="memory:",
        agent=Agent("x", tools=[deploy]),
        classifier=slow,
        ports=Ports(clock=Patient()),
        resolve_model=lambda _id: model,
    ) as harness:
        session = await harness.session()
        async with anyio.create_task_group() as tasks:
            results = []

            async def send():
                results.append(await session.send("go"))

            tasks.start_soon(send)
            with anyio.fail_after(20):
                await thinking.wait()
                await session.abort()
        assert results[0].reason == "user_interrupt"
        assert results[0].text == "I deploy."
        replayed = await replay_thread(harness.store, session.thread_id)
        assert replayed.equal, replayed.divergence


class Patient(SystemClock):
    """Two seconds never end."""

    def deadline(self, seconds: float) -> anyio.CancelScope:
        return anyio.move_on_after(600 if seconds == 2.0 else seconds)
