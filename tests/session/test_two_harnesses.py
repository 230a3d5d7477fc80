"""Two harnesses of one process on one store: each is a stranger to the other's runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from bridle import Agent, Rules, tool
from bridle.errors import ThreadInUse
from bridle.testing import calls, says

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def test_what_is_refused_is_not_run_later_and_the_rest_reaches_the_run(
    opened, model, tmp_path
):
    begun, goes_on = anyio.Event(), anyio.Event()

    @tool(category="read", read_only=True)
    async def wait() -> str:
        """Wait."""
        begun.set()
        await goes_on.wait()
        return "waited"

    options = {
        "store": f"sqlite:////{tmp_path}/shared.db",
        "agent": Agent("You help.", tools=[wait]),
        "permissions": Rules(tools={"wait": "allow"}),
    }
    model.plays(calls("wait"), says("done"))
    async with opened(**options) as one, opened(**options) as other:
        mine, theirs = await one.session("r"), await other.session("r")
        async with mine.start("go") as run:
            with anyio.fail_after(30):
                await begun.wait()
            with pytest.raises(ThreadInUse, match="in use by"):
                await theirs.send("me too")
            await theirs.steer("hurry")
            goes_on.set()
        assert run.result.reason == "end_turn"
        said = [m.text for m in await mine.threads.messages() if m.role == "user"]
        assert said == ["go", "hurry"]
        model.plays(says("now"))
        assert (await theirs.send("me too")).text == "now"  # the thread is free again
        assert [m.text for m in await mine.threads.messages()][-2:] == ["me too", "now"]


async def test_abort_returns_when_the_other_s_run_has_ended(opened, model, tmp_path):
    begun = anyio.Event()

    @tool(category="read", read_only=True)
    async def wait() -> str:
        """Wait."""
        begun.set()
        await anyio.sleep_forever()
        return ""

    options = {
        "store": f"sqlite:////{tmp_path}/shared.db",
        "agent": Agent("You help.", tools=[wait]),
        "permissions": Rules(tools={"wait": "allow"}),
    }
    model.plays(calls("wait"))
    async with opened(**options) as one, opened(**options) as other:
        mine, theirs = await one.session("r"), await other.session("r")
        async with mine.start("go") as run:
            with anyio.fail_after(30):
                await begun.wait()
                await theirs.abort()
            row = (await other.store.runs(thread_id=theirs.thread_id, limit=1))[0]
            assert (row.status, row.reason) == ("ended", "user_interrupt")
        assert run.result.reason == "user_interrupt"


class Late:
    """A store whose owner is overtaken between its look at the lease and what it writes then."""

    def __init__(self, store: Any, overtake: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._overtake: Callable[[], Awaitable[None]] | None = overtake

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def lease(self, thread_id: str) -> Any:
        found = await self._store.lease(thread_id)
        overtake, self._overtake = self._overtake, None
        if overtake is not None:
            await overtake()
        return found


async def test_a_send_that_is_overtaken_is_refused_and_not_queued(opened, model, tmp_path):
    begun, go_on = anyio.Event(), anyio.Event()

    @tool(category="read", read_only=True)
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go_on.wait()
        return "waited"

    options = {
        "agent": Agent("You help.", tools=[wait]),
        "permissions": Rules(tools={"wait": "allow"}),
    }
    model.plays(calls("wait"), says("mine"), says("theirs"))
    async with opened(store=f"sqlite:////{tmp_path}/shared.db", **options) as one:
        mine = await one.session("r")
        runs = []

        async def overtake() -> None:
            runs.append(mine.start("go"))
            with anyio.fail_after(30):
                await begun.wait()

        async with opened(store=Late(one.store, overtake), **options) as other:
            theirs = await other.session("r")
            assert theirs.thread_id == mine.thread_id
            with pytest.raises(ThreadInUse):
                await theirs.send("me too")
            go_on.set()
            assert (await runs[0]).text == "mine"
            assert [m.text for m in await mine.threads.messages() if m.role == "user"] == ["go"]
            assert (await theirs.send("now")).text == "theirs"
