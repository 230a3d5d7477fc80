"""Cut a turn at every one of its awaits: one settlement per call, one end per run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from bridle import Agent, Harness, Rules, Subagent, tool
from bridle.app.config import Ports
from bridle.journal.state import ThreadState
from bridle.ports.clock import SystemClock
from bridle.runs.replay.driver import replay_thread
from bridle.store.sqlite.store import SqliteStore
from bridle.testing import calls, says
from bridle.types.limits import Limits
from bridle.types.ops import Interrupt
from support.awaits import Awaits
from support.kernel import ByStep, Impatient, check_history, check_log, thread_ids
from support.outline import outline

STEP = 2
"""Every n-th await is cut here; `scripts/campaign cancel` cuts at all of them."""


@tool(category="read", read_only=True, concurrency_safe=True)
async def look(name: str) -> str:
    """Look at something, with a few awaits on the way."""
    for _ in range(3):
        await anyio.sleep(0)
    return f"{name} is there"


@tool(category="execute")
async def act(name: str) -> str:
    """Do something that may not be repeated."""
    done.append(name)
    await anyio.sleep(0)
    return f"{name} is done"


done: list[str] = []


def script(request: Any) -> Any:
    if request.system == "kid":
        return [says("looking"), calls("look", name="k")] if request.step == 1 else says("seen")
    return {
        1: [
            says("I look"),
            calls("look", name="a"),
            calls("look", name="b"),
            calls("act", name="x"),
        ],
        2: [calls("subagent", agent_type="kid", task="help"), calls("look", name="c")],
        3: says("that is all there is to say about it"),
    }[request.step]


class Deadlines(Impatient):
    """A clock whose time is up when the test says so."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.late = 0.0

    def now(self) -> float:
        return super().now() + self.late

    def deadline(self, seconds: float) -> anyio.CancelScope:
        self.scope = anyio.CancelScope()
        if seconds <= 0:
            self.scope.cancel()
        return self.scope

    def strike(self) -> None:
        self.late = 7200.0
        self.scope.cancel()


def make(store: Any, make_clock: Callable[[], Any] = Impatient, **more: Any) -> Harness:
    return Harness(
        id="t",
        store=store,
        agent=Agent("boss", tools=[look, act]),
        subagents=[Subagent("kid", instructions="kid", allowed_tools=["look"])],
        permissions=Rules(profile="yolo"),
        model="scripted/queue",
        resolve_model=lambda _id: ByStep(script),
        ports=Ports(clock=make_clock()),
        **more,
    )


async def run_once(at: int | None, cut: Callable[[Harness, Any], None], **more: Any) -> Awaits:
    """Run to the end with a cut at one await, then go on in another harness until all is done."""
    done.clear()
    store = SqliteStore(None, clock=SystemClock())
    harness = make(store, **more)
    session: Any = None
    awaits = Awaits(at, lambda: cut(harness, session))
    with awaits.counting():
        async with harness:
            session = await harness.session()
            run = session.start("go")
            with anyio.fail_after(20):
                await run.begin()
                await harness._engine.dispatcher.rested(session.thread_id)
    thread_id, run_id = session.thread_id, run.id
    async with make(store) as again:
        session = await again.session(thread_id=thread_id)
        await session.resume()
        with anyio.fail_after(20):
            await session.wait(run_id)
        await check(store, run_id)
    await store.close()
    return awaits


async def check(store: SqliteStore, run_id: str) -> None:
    for thread_id in await thread_ids(store):
        events = await store.events(thread_id)
        try:
            check_log(events)
            state = ThreadState(thread_id)
            for event in events:
                state.apply(event)
            check_history(state.messages)
            replayed = await replay_thread(store, thread_id)
            assert replayed.equal, replayed.divergence
        except AssertionError as error:
            raise AssertionError(
                "\n".join([str(error), *outline(events, everything=True)])
            ) from error
    place = await store.run(run_id)
    assert place is not None
    assert place.row.status == "ended"
    assert await store.pending() == []
    for account in await store.accounts(run_id):
        assert (account.reserved_tokens, account.reserved_usd) == (0, 0.0)
    assert done.count("x") <= 1


async def everywhere(cut: Callable[[Harness, Any], None], step: int = STEP, **more: Any) -> int:
    at = 1
    while True:
        try:
            awaits = await run_once(at, cut, **more)
        except AssertionError as error:
            raise AssertionError(f"cut at await {at}: {error}") from error
        if not awaits.reached:
            return at
        at += step


def cancel(harness: Harness, session: Any) -> None:
    if harness._tasks._group is not None:
        harness._tasks.group.cancel_scope.cancel()


def interrupt(harness: Harness, session: Any) -> None:
    """Admit an interrupt as another process would: without asking what goes on."""

    async def admit() -> None:
        runs = await harness.store.runs(thread_id=session.thread_id)
        for run in runs:
            op = Interrupt(run_id=run.run_id)
            await harness._engine.journal.admit(session.thread_id, op, input_id="in_interrupt")

    if session is not None and harness._tasks._group is not None:
        harness._tasks.group.start_soon(admit)


def strike(harness: Harness, session: Any) -> None:
    harness._ports.clock.strike()


def pause(harness: Harness, session: Any) -> None:
    if harness._engine is not None:
        harness.pause()


async def test_a_drain_that_pauses_is_gone_on_with_later() -> None:
    assert await everywhere(pause) > 80


async def test_an_interrupt_settles_every_call_and_ends_once() -> None:
    assert await everywhere(interrupt) > 50


async def test_a_deadline_settles_every_call_and_ends_once() -> None:
    limits = Limits(timeout=3600)
    assert await everywhere(strike, make_clock=Deadlines, limits=limits) > 50


async def test_a_cancelled_drain_settles_every_call_and_ends_once() -> None:
    assert await everywhere(cancel) > 50
