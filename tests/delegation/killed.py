"""Kill a process whose agents speak to one another, resume it in another one, and look.

`killed.py HOME [COUNT]` prints one JSON line per kill: at evenly spaced commits of the whole.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import anyio

from bridle import Agent, Harness, Rules, Subagent, ToolContext, tool
from bridle.runs.replay.driver import replay_thread
from bridle.testing import calls, says
from delegation.conftest import Cast
from delegation.test_mailboxes import all_heard, fork
from support.crash import Kill, Killing, carry_on

TEXTS = [f"m{n}" for n in range(5)]
WORKERS = ("ann", "bob")


def main_part(request: Any) -> Any:
    if request.step == 1 and len(request.messages) == 1:
        return [fork(name, "coder") for name in WORKERS]
    if request.step == 2:
        return [calls("send_message", to="role:coder", text=text) for text in TEXTS]
    if '"running"' in str(request.messages[-1].parts) or request.step == 3:
        return calls("wait_for_agent", timeout=60)
    if "You are a fork" in request.messages[-1].text:
        return says("forked")
    if "forked" not in str(request.messages[-1].parts):
        return calls("subagent", agent_type="heir", task="Sum it up")
    return says("end")


def coder_part(request: Any) -> Any:
    told = all_heard(request)
    if len(told) < len(TEXTS):
        return calls("wait_for_agent", until="message", timeout=60)
    if "did it" not in str(request.messages[-1].parts):
        return calls("work")
    return says(",".join(told))


async def work(directory: Path, kill: Kill | None, out: Path) -> None:
    """One process: begin the run or go on with it, and write down what came of it."""
    store = Killing(directory / "store.db", kill)

    @tool(name="work", category="execute", effect="keyed")
    async def act(ctx: ToolContext[Any]) -> str:
        """Do it, once per key."""
        (directory / f"key-{ctx.key}").touch()
        return "did it"

    tools = ["send_message", "wait_for_agent"]
    harness = Harness(
        id="t",
        store=store,
        agent=Agent("main"),
        subagents=[
            Subagent("coder", instructions="coder", tools=[act], allowed_tools=tools),
            Subagent("heir", forked=True),
        ],
        permissions=Rules(profile="yolo"),
        model="test/cast",
        resolve_model=lambda _id: Cast(main=main_part, coder=coder_part),
    )
    async with harness:
        session = await harness.session()
        result = await carry_on(session, store)
        found: dict[str, Any] = {"reason": result.reason, "text": result.text}
        events = await store.events(session.thread_id)
        found["results"] = sorted(e.result for e in events if e.type == "subagent_end")
        threads = [session.thread_id, *await store.children(session.thread_id)]
        found["ends"] = [
            sum(e.type == "agent_end" for e in await store.events(name)) for name in threads
        ]
        replayed = [await replay_thread(store, name) for name in threads]
        found["equal"] = [str(one.divergence or "equal") for one in replayed if not one.equal]
        found["commits"] = store.counts["after"]
    await store.close()
    found["keys"] = len(list(directory.glob("key-*")))
    out.write_text(json.dumps(found))


def spawn(directory: Path, kill: Kill | None, out: Path) -> int:
    pid = os.fork()
    if not pid:
        code = 1
        try:
            anyio.run(work, directory, kill, out)
            code = 0
        except BaseException:
            (directory / "error").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def delivered(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        return int(db.execute("select count(*) from inbox where kind = 'deliver'").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # killed before its tables were made
    finally:
        db.close()


def survive(kill: Kill | None, home: Path) -> dict[str, Any]:
    """Kill once, go on, and tell what came of it."""
    directory = Path(tempfile.mkdtemp(dir=home))
    out = directory / "found.json"
    told: dict[str, Any] = {"kill": str(kill)}
    if kill is not None:
        told["killed"] = spawn(directory, kill, out) == -signal.SIGKILL
        told["delivered"] = delivered(directory / "store.db")
    if spawn(directory, None, out) != 0:
        return {**told, "error": (directory / "error").read_text()}
    return {**told, **json.loads(out.read_text())}


def main(argv: list[str]) -> int:
    home, count = Path(argv[0]), int(argv[1])
    whole = survive(None, home)
    print(json.dumps(whole), flush=True)
    last = whole["commits"] * 3 // 4  # how the commits interleave differs: all of these are reached
    for number in range(count):
        at = 1 + number * (last - 1) // max(1, count - 1)
        when = ("before", "after")[number % 2]
        print(json.dumps(survive(Kill(when, at), home)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
