"""A process that holds a thread while its tool waits for a file, with a short lease.

Unfenced, it writes without saying which lease it writes under, as a naive worker would.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import msgspec

from bridle import Agent, Harness, Rules, tool
from bridle.errors import BridleError
from bridle.ports.clock import SystemClock
from bridle.store.sqlite.store import SqliteStore
from bridle.testing import calls, says
from support.kernel import ByStep


class Unfenced(SqliteStore):
    async def commit(self, batch: Any) -> Any:
        bare = tuple(
            msgspec.structs.replace(append, epoch=None, expect=None) for append in batch.appends
        )
        return await super().commit(msgspec.structs.replace(batch, appends=bare))


def make(path: Path, who: str, *, store: Any = None) -> Harness:
    directory = path.parent

    @tool(category="execute", effect="keyed")
    async def wait() -> str:
        """Wait for the file that this process waits for."""
        (directory / f"began-{who}").touch()
        while not (directory / f"go-{who}").exists():
            await anyio.sleep(0.01)
        return f"from the {who}"

    return Harness(
        id="t",
        store=store or f"sqlite:///{path}",
        agent=Agent("wait", tools=[wait]),
        permissions=Rules(profile="yolo"),
        model="scripted/queue",
        resolve_model=lambda _id: ByStep(lambda r: calls("wait") if r.step == 1 else says("done")),
    )


async def main(path: Path, lease_seconds: float, *, fenced: bool) -> None:
    store = (
        SqliteStore(path, clock=SystemClock()) if fenced else Unfenced(path, clock=SystemClock())
    )
    said: dict[str, Any] = {}
    async with make(path, "first", store=store) as harness:
        assert harness._engine is not None
        drain = harness._engine.dispatcher.drain
        drain.lease_seconds = lease_seconds
        session = await harness.session()
        run = session.start("go")
        await run.begin()
        try:
            result = await run
            said = {"reason": result.reason}
        except BridleError as error:
            said = {"error": type(error).__name__, "message": str(error)}
    await store.close()
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    anyio.run(lambda: main(Path(sys.argv[1]), float(sys.argv[2]), fenced=sys.argv[3] == "fenced"))
