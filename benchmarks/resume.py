"""CPU to resume a thread of 10,000 messages, above start-up; the floor decodes the same bodies.

The thread is one long run of tool steps that was killed in the middle of a call: 5,000 round
trips of an assistant's message with a call, and its result. To resume is to find the open run,
fold its log, run the open call again, make the next request, record the answer and give back the
result. Start-up is the same on a thread of one round trip.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

import anyio
from common import PYTHON, command, cpu, scratch, table, verdict
from loops import INSTRUCTIONS

from bridle import Agent, Harness, Limits, Rules, Tool, tool
from bridle.testing import ScriptedModel, calls, says
from bridle.types.events import decode_event
from bridle.types.usage import Usage

MESSAGES = 10_000
REPEAT = 5
TARGET = 200.0
WORDS = "These are the words of a result that a tool gave, as long as a short file. " * 3


def main() -> None:
    with scratch() as directory:
        long, short = directory / "long.db", directory / "short.db"
        for path, messages in ((long, MESSAGES), (short, 2)):
            command(PYTHON, __file__, "write", str(path), str(messages))
        decode, events, size = floor(long)
        whole, start = resumed(long, directory), resumed(short, directory)
    above = whole - start
    rows = [
        [f"{MESSAGES:,} messages", above, decode, above / decode, verdict(above, TARGET)],
        ["start-up, one round trip", start, "", "", ""],
    ]
    heads = ["CPU ms", "ours", "decode", "ratio", f"target ≤ {TARGET:g} ms"]
    title = f"Resume a run of {events:,} events, {size / 1e6:.1f} MB of bodies, least of {REPEAT}"
    table(title, heads, rows)


def resumed(path: Path, directory: Path) -> float:
    """Each time from a fresh copy: resuming changes the log."""
    copy = directory / "copy.db"
    costs = []
    for _ in range(REPEAT):
        with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
            source.backup(target)
        costs.append(command(PYTHON, __file__, "resume", str(copy)).cpu)
        for left in directory.glob("copy.db*"):
            left.unlink()
    return min(costs)


def floor(path: Path) -> tuple[float, int, int]:
    """Read and decode all bodies, and nothing else."""
    db = sqlite3.connect(path)
    costs = []
    for _ in range(REPEAT):
        before = cpu()
        bodies = [body for (body,) in db.execute("select body from events order by seq")]
        kept = [decode_event(body) for body in bodies]
        costs.append((cpu() - before) * 1000)
    db.close()
    return min(costs), len(kept), sum(map(len, bodies))


def harness(path: Path, model: ScriptedModel, look: Tool) -> Harness:
    return Harness(
        agent=Agent(INSTRUCTIONS, tools=[look]),
        model=model.id,
        store=f"sqlite:///{path}",
        resolve_model=lambda _: model,
        permissions=Rules(tools={"look": "allow"}),
        limits=Limits(max_steps=100_000),
    )


async def write(path: Path, messages: int) -> None:
    """Run so many messages, and die in the middle of the last call."""
    steps = messages // 2

    @tool(category="read", read_only=True, effect="safe")
    async def look(n: int) -> str:
        """Look at something."""
        if n == steps:
            os._exit(0)
        return WORDS

    items = [[says("I look at the next one."), calls("look", n=n)] for n in range(1, steps + 1)]
    model = ScriptedModel(items, usage=Usage(input_tokens=1, output_tokens=1))
    async with harness(path, model, look) as opened:
        await (await opened.session()).send("Look at all of them.")


async def resume(path: Path) -> None:
    """What `bridle run --continue` does."""

    @tool(category="read", read_only=True, effect="safe")
    async def look(n: int) -> str:
        """Look at something."""
        return f"{n}: {WORDS}"

    model = ScriptedModel([says("done")], usage=Usage(input_tokens=1, output_tokens=1))
    async with harness(path, model, look) as opened:
        session = await opened.session()
        run_id = await session.open_run()
        assert run_id is not None
        await session.resume()
        result = await session.wait(run_id)
    assert (result.reason, result.text) == ("end_turn", "done"), result


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", file, count]:
            anyio.run(write, Path(file), int(count))
        case ["resume", file]:
            anyio.run(resume, Path(file))
        case _:
            main()
