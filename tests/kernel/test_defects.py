"""A defect, ours or of what the user plugged in, is an outcome and not a silence."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import Subagent, tool
from bridle.errors import StoreError
from bridle.ports.clock import SystemClock
from bridle.store.sqlite.store import SqliteStore
from bridle.testing import calls, says
from support.kernel import ByStep, check_log, make_harness, thread_ids
from support.outline import outline


def broken(_request: Any) -> Any:
    raise ZeroDivisionError("in the model")


@tool(category="read", read_only=True)
async def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize("step", [1, 2])
async def test_a_defect_ends_the_run_with_an_error(opened: Any, step: int) -> None:
    model = ByStep(lambda r: broken(r) if r.step == step else calls("look"))
    harness = await opened(model, [look])
    session = await harness.session()
    result = await session.send("go")
    assert (result.reason, result.error.type) == ("error", "internal")
    assert "ZeroDivisionError: in the model" in result.error.message
    events = await harness.store.events(session.thread_id)
    check_log(events)
    assert outline(events)[-2:] == ["error internal", "agent_end error"]


async def test_the_thread_goes_on_after_a_defect(opened: Any) -> None:
    answers = iter([broken, lambda _: says("well again")])
    harness = await opened(ByStep(lambda r: next(answers)(r)))
    session = await harness.session()
    assert (await session.send("one")).reason == "error"
    assert (await session.send("two")).text == "well again"


async def test_a_defect_of_a_child_is_told_to_its_parent(opened: Any) -> None:
    def script(request: Any) -> Any:
        if request.system == "kid":
            return broken(request)
        ask = calls("subagent", agent_type="kid", task="t")
        return ask if request.step == 1 else says("the kid broke")

    harness = await opened(ByStep(script), subagents=[Subagent("kid", instructions="kid")])
    session = await harness.session()
    with anyio.fail_after(10):
        result = await session.send("go")
    assert result.text == "the kid broke"
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert (end.is_error, end.kind) == (True, "error")
    assert "ZeroDivisionError" in end.result
    for name in await thread_ids(harness.store):
        check_log(await harness.store.events(name))


async def test_a_child_whose_kind_is_gone_fails_and_its_parent_goes_on(opened: Any) -> None:
    """It was started by a harness that knew the kind and is drained by one that does not."""

    def script(request: Any) -> Any:
        ask = calls("subagent", agent_type="kid", task="t")
        return ask if request.step == 1 else says("so be it")

    def resolve(model_id: str) -> Any:
        if model_id == "scripted/gone":
            raise LookupError("no such model any more")
        return ByStep(script)

    kid = Subagent("kid", instructions="kid", model="scripted/gone")
    harness = await opened(None, subagents=[kid], resolve_model=resolve)
    session = await harness.session()
    with anyio.fail_after(10):
        result = await session.send("go")
    assert result.text == "so be it"
    (end,) = [e for e in await session.run_events(result.run_id) if e.type == "tool_end"]
    assert "no such model any more" in end.result


async def test_a_defect_in_one_thread_does_not_stop_the_others(opened: Any) -> None:
    def script(request: Any) -> Any:
        return broken(request) if "break" in request.messages[-1].text else says("fine")

    harness = await opened(ByStep(script))
    sessions = [await harness.session(new=True) for _ in range(4)]
    reasons: dict[str, str] = {}

    async def send(number: int) -> None:
        text = "break" if number % 2 else "work"
        reasons[f"{number}"] = (await sessions[number].send(text)).reason

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(send, number)
    assert reasons == {"0": "end_turn", "1": "error", "2": "end_turn", "3": "error"}


class Failing(SqliteStore):
    """A store whose n-th commit fails, once."""

    def __init__(self, path: Path, at: int) -> None:
        super().__init__(path, clock=SystemClock())
        self._left = at

    async def commit(self, batch: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            raise StoreError("The store failed: disk I/O error")
        return await super().commit(batch)


@pytest.mark.parametrize("at", range(3, 10))
async def test_a_store_that_fails_for_a_moment_costs_no_run(tmp_path: Path, at: int) -> None:
    """Whoever waits is told, the lease is given back, and the run goes on when it is resumed."""
    store = Failing(tmp_path / "store.db", at)
    model = ByStep(lambda r: calls("look") if r.step == 1 else says("done"))
    async with make_harness(store, model, [look]) as harness:
        session = await harness.session()
        with contextlib.suppress(StoreError), anyio.fail_after(10):
            await session.send("go")
        run_id = (await store.runs())[0].run_id if await store.runs() else None
        await session.resume()
        with anyio.fail_after(10):
            run_id = run_id or await session.open_run()
            if run_id is not None:
                assert (await session.wait(run_id)).text == "done"
        check_log(await store.events(session.thread_id))
    await store.close()
