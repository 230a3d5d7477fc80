"""What is told after a crash between the start of a call and its result, by the kind of tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import Rules, ToolContext, tool
from bridle.testing import calls, says
from support.kernel import ByStep, check_log, make_harness
from support.mortal import Mortal, stranger
from support.outline import only


class Process:
    """A harness that is killed while its tool is running, and the one that comes after it."""

    def __init__(self, path: Path, effect: str) -> None:
        self.path = path
        self.effect = effect
        self.ran: list[tuple[str, bool]] = []
        self.acting = anyio.Event()
        self.stuck = True

    def tool(self) -> Any:
        @tool(category="execute", effect=self.effect)  # type: ignore[call-overload]
        async def act(ctx: ToolContext[Any]) -> str:
            """Act."""
            self.ran.append((ctx.key, ctx.repeated))
            self.acting.set()
            if self.stuck:
                await anyio.sleep_forever()
            return "acted"

        return act

    def harness(self, store: Any = None, **more: Any) -> Any:
        model = ByStep(lambda request: calls("act") if request.step == 1 else says("done"))
        return make_harness(store or self.path, model, [self.tool()], **more)

    async def die_acting(self, **more: Any) -> str:
        """Begin a run and be killed while it acts; returns the run's id."""
        store = Mortal(self.path)
        harness = self.harness(store, **more)
        await harness.init()
        harness._engine.dispatcher.drain.owner = stranger()
        session = await harness.session()
        run = session.start("go")
        await run.begin()
        with anyio.fail_after(10):
            await self.acting.wait()
        store.die()
        await harness.destroy()
        await store.inner.close()
        self.stuck = False
        return run.id

    async def go_on(self, run_id: str) -> tuple[Any, list[Any]]:
        async with self.harness() as harness:
            session = await harness.session()
            await session.resume()
            result = await session.wait(run_id)
            check_log(await harness.store.events(session.thread_id))
            return result, await session.run_events(run_id)


@pytest.mark.parametrize("effect", ["safe", "keyed"])
async def test_a_call_that_may_be_repeated_is(tmp_path: Path, effect: str) -> None:
    process = Process(tmp_path / "store.db", effect)
    run_id = await process.die_acting()
    result, events = await process.go_on(run_id)
    assert result.text == "done"
    assert only(events, "tool_end") == ["tool_end"]
    key = f"{run_id}.1.0"
    assert process.ran == [(key, False), (key, True)], "with the same key, and told that it is"


async def test_a_call_that_may_not_be_repeated_is_told_as_ambiguous(tmp_path: Path) -> None:
    process = Process(tmp_path / "store.db", "once")
    run_id = await process.die_acting()
    result, events = await process.go_on(run_id)
    assert result.text == "done"
    assert only(events, "tool_end", "info") == ["tool_end ambiguous", "info ambiguous_call"]
    (end,) = [e for e in events if e.type == "tool_end"]
    assert end.is_error
    assert "It was not run again" in end.result
    assert len(process.ran) == 1


async def test_a_call_that_was_asked_when_the_process_died_is_still_asked(tmp_path: Path) -> None:
    process = Process(tmp_path / "store.db", "once")
    process.stuck = False
    async with process.harness(permissions=Rules()) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.reason == "awaiting"
    async with process.harness(permissions=Rules()) as harness:
        session = await harness.session()
        await session.resume()
        (pending,) = await harness.store.pending()
        await session.approve(pending.id)
        result = await session.wait(result.run_id)
        assert result.text == "done"
    assert len(process.ran) == 1
