"""A scripted run that kills itself at a chosen point, or goes on after one.

python program.py DIRECTORY EFFECT WHEN N

EFFECT is the effect of the tool (safe, keyed, once). WHEN is `before` or `after` the N-th commit,
`acted` (after the N-th act, before its result), `naive` (a loop that records after it acts, killed
after the N-th act), or `never` (run, or go on, to the end).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from bridle import Agent, Harness, Rules, tool
from bridle.ports.clock import SystemClock
from bridle.runs.replay.driver import replay_thread
from bridle.store.sqlite.store import SqliteStore
from bridle.testing import ScriptedModel, calls, says

STEPS = 30


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Dying(SqliteStore):
    """A store that kills its process around one commit."""

    when = "never"
    at = 0
    count = 0

    async def commit(self, batch: Any) -> Any:
        self.count += 1
        if self.when == "before" and self.count == self.at:
            die()
        done = await super().commit(batch)
        if self.when == "after" and self.count == self.at:
            die()
        return done


class ByStep:
    """Answers by the number of the request in its run, so that a killed process can go on."""

    id, price, context_window = "test/by-step", None, None

    def stream(self, request: Any) -> Any:
        item = calls("act", n=request.step) if request.step <= STEPS else says("all done")
        return ScriptedModel([item]).stream(request)


async def main(here: Path, effect: str, when: str, at: int) -> None:
    acts = here / "acts"
    count = 0

    @tool(category="execute", effect=effect)  # type: ignore[arg-type]
    async def act(n: int) -> str:
        """Leave a mark."""
        nonlocal count
        with acts.open("a") as file:
            file.write(f"{n}\n")
        count += 1
        if when == "acted" and count == at:
            die()
        return f"acted {n}"

    store = Dying(here / "store.db", clock=SystemClock())
    store.when, store.at = when, at
    harness = Harness(
        id="crash",
        store=store,
        agent=Agent("x", tools=[act]),
        permissions=Rules(tools={"act": "allow"}),
        resolve_model=lambda _id: ByStep(),
    )
    async with harness:
        session = await harness.session()
        run_id = await session.open_run()
        if run_id is None:
            run = session.start("go")
            await run.begin()
            run_id = run.id
        else:
            await session.resume()
        result = await session.wait(run_id)
        events = await session.run_events(run_id)
        ends = [event for event in events if event.type == "tool_end"]
        replayed = await replay_thread(store, session.thread_id)
        print(
            json.dumps(
                {
                    "reason": result.reason,
                    "text": result.text,
                    "ends": sum(event.type == "agent_end" for event in events),
                    "results": len(ends),
                    "calls": len({event.call_id for event in ends}),
                    "ambiguous": sum(event.ambiguous for event in ends),
                    "equal": replayed.equal,
                    "commits": store.count,
                    "seqs": [event.seq for event in await store.events(session.thread_id)],
                }
            )
        )
    await store.close()


def naive(here: Path, at: int) -> None:
    """What a loop without a log before the act does: after a crash it acts again."""
    done = here / "done"
    finished = int(done.read_text()) if done.exists() else 0
    for n in range(finished + 1, STEPS + 1):
        with (here / "acts").open("a") as file:
            file.write(f"{n}\n")
        if n == at:
            die()
        done.write_text(str(n))


if __name__ == "__main__":
    directory, effect, when, at = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    if when == "naive":
        naive(directory, at)
    else:
        anyio.run(main, directory, effect, when, at)
