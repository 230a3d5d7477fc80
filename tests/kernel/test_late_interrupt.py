"""A process dies right after it dealt with an interrupt that came before its request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from bridle.runs.replay.driver import replay_thread
from bridle.testing import says
from bridle.types import events as ev
from bridle.types.content import Text
from bridle.types.ops import Interrupt, Send
from support.kernel import ByStep, make_harness
from support.mortal import Mortal, stranger
from support.outline import outline


async def test_replay_follows_a_drain_that_reserved_nothing(tmp_path: Path) -> None:
    store = Mortal(tmp_path / "s.db")
    harness = make_harness(store, ByStep(lambda _: says("ok")))
    await harness.init()
    harness._engine.dispatcher.drain.owner = stranger()
    session = await harness.session()
    journal, commit = harness._engine.journal, store.inner.commit
    admitted = False

    async def striking(batch: Any) -> Any:
        nonlocal admitted
        done = await commit(batch)
        if not admitted and any(isinstance(event, ev.MessageEnded) for event in done):
            admitted = True
            await journal.admit(session.thread_id, Interrupt(run_id="run_x"), input_id="in_x")
        if any(isinstance(event, ev.Noted) for event in done):
            store.die()
        return done

    store.inner.commit = striking  # type: ignore[method-assign]
    op = Send(run_id="run_first", parts=(Text("go"),))
    await journal.admit(session.thread_id, op, input_id="in_first")
    await session.resume()
    with anyio.fail_after(20):
        while not store.dead:
            await anyio.sleep(0.01)
    await harness.destroy()
    await store.inner.close()

    again = Mortal(tmp_path / "s.db")
    async with make_harness(again, ByStep(lambda _: says("ok"))) as harness:
        harness._engine.dispatcher.drain.owner = stranger()
        session = await harness.session(thread_id=session.thread_id)
        await session.resume()
        assert (await session.wait("run_first")).text == "ok"
        lines = outline(await again.events(session.thread_id), everything=True)
        assert lines[lines.index("info late_interrupt") + 1] == "lease_taken"
        replayed = await replay_thread(again, session.thread_id)  # type: ignore[arg-type]
        assert replayed.equal, replayed.divergence
    await again.inner.close()
