"""Whatever several tasks do at once, there is one valid history and one reason per run."""

from __future__ import annotations

from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridle import Agent, Harness, Mode, Ports, Rules, tool
from bridle.errors import BridleError
from bridle.runs.replay.driver import replay_thread
from bridle.testing import calls, says, slow
from bridle.types.events import RunEnded
from support.kernel import ByStep, Impatient, check_history, check_log


@tool(category="read", read_only=True, concurrency_safe=True)
async def look() -> str:
    """Look."""
    return "seen"


@tool
async def act() -> str:
    """Act, once it was approved."""
    return "done"


def script(request: Any) -> Any:
    """Each step does something else; the fourth ends the run."""
    return (
        [slow(4, 0.001), says("let me see "), calls("look"), calls("act")],
        [calls("ask_user", question="?"), calls("look")],
        calls("submit_plan", plan="p"),
        [slow(4, 0.001), says("that was it")],
    )[min(request.step, 4) - 1]


ACTIONS = ("send", "steer", "restart", "follow_up", "abort", "switch", "answer", "pin", "model")
TASKS = st.lists(
    st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 6)), min_size=1, max_size=5),
    min_size=2,
    max_size=4,
)


async def act_on(session: Any, action: str) -> None:
    match action:
        case "send":
            await session.start("go").begin()
        case "steer" | "restart":
            await session.steer("mind this", restart=action == "restart")
        case "follow_up":
            await session.follow_up("and then")
        case "abort":
            await session.abort()
        case "switch":
            other = "build" if session.modes.current.id == "plan" else "plan"
            await session.modes.switch(other)
        case "model":
            await session.models.switch("x/other")
        case "pin":
            await session.pin("always")
        case "answer":
            await answer_one(session)


async def answer_one(session: Any) -> None:
    for pending in session.pending[:1]:
        match pending.kind:
            case "approval":
                await session.approve(pending.id)
            case "question":
                await session.answer(pending.id, "yes")
            case "plan":
                await session.answer_plan(pending.id, True)


async def play(tasks: list[list[tuple[str, int]]]) -> None:
    plan = Mode("plan", Agent("p", tools=[look, act]), default=True, transitions_to="build")
    build = Mode("build", Agent("b", tools=[look, act]))
    harness = Harness(
        store="memory:",
        modes=[plan, build],
        resolve_model=lambda _id: ByStep(script),
        permissions=Rules(),
        ports=Ports(clock=Impatient()),
    )
    async with harness:
        first = await harness.session()
        ends: dict[str, list[str]] = {}

        def hear(event: Any) -> None:
            if isinstance(event, RunEnded):
                ends.setdefault(event.run_id or "", []).append(event.reason)

        first.events.subscribe(hear)

        async def one(actions: list[tuple[str, int]]) -> None:
            session = await harness.session(thread_id=first.thread_id)
            for action, pauses in actions:
                for _ in range(pauses):
                    await anyio.sleep(0.001)
                try:
                    await act_on(session, action)
                except BridleError:  # somebody else was faster, and says so
                    continue

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for actions in tasks:
                    group.start_soon(one, actions)
            while first.is_running or (await first.open_run()) is not None:  # end everything
                await first.abort()
                await anyio.sleep(0.001)
        events = await harness.store.events(first.thread_id)
        check_log(events)
        check_history(await first.threads.messages())
        assert all(len(reasons) == 1 for reasons in ends.values())
        assert first.pending == first.display.pending == ()
        assert not first.display.is_running
        assert first.display.queued == 0
        late = await harness.session(thread_id=first.thread_id)
        assert late.display.usage == first.display.usage
        assert late.display.current_message == first.display.current_message
        replayed = await replay_thread(harness.store, first.thread_id)
        assert replayed.equal, replayed.divergence


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(TASKS)
def test_any_interleaving_of_several_tasks_gives_one_valid_history(
    tasks: list[list[tuple[str, int]]],
) -> None:
    anyio.run(play, tasks)
