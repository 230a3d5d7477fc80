"""Memory of 1,000 idle sessions in one process, each after a run of two steps, and their weight.

The floor is the same number of live Python objects that hold what such a session has said: a
plain dict with a list of three messages. The weight is what another session's run costs beside
them, against the same run beside twenty.
"""

from __future__ import annotations

import gc
from typing import Any

import anyio
from common import cpu, scratch, table, verdict

from bridle import Agent, Harness, Rules, tool
from bridle.testing import ScriptedModel, calls, says

SESSIONS = 1000
EACH, ALL = 0.5, 400.0


@tool(category="read", read_only=True, concurrency_safe=True)
async def look(n: int) -> str:
    """Look at something."""
    return f"This is what there is to see at {n}. " * 5


def resident() -> float:
    """Megabytes of this process in memory now."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


async def live() -> tuple[float, float, float, float]:
    model = ScriptedModel(id="scripted/idle")
    with scratch() as directory:
        harness = Harness(
            agent=Agent("Look once, then answer.", tools=[look]),
            model=model.id,
            store=f"sqlite:///{directory / 'b.db'}",
            resolve_model=lambda _: model,
            permissions=Rules(tools={"look": "allow"}),
        )
        async with harness:
            sessions: list[Any] = []
            heard = 0

            def hear(_event: object) -> None:
                nonlocal heard
                heard += 1

            async def begin(number: int) -> float:
                session = await harness.session(resource_id=f"user-{number}")
                session.events.subscribe(hear)
                model.plays(calls("look", n=number), says("Seen. " * 20))
                used = cpu()
                result = await session.send("Look.")
                used = cpu() - used
                assert result.reason == "end_turn", result
                model.requests.clear()
                sessions.append(session)
                return used * 1000

            few = min([await begin(number) for number in range(20)][5:])
            before = resident()
            many = min([await begin(1000 + number) for number in range(SESSIONS)][-20:])
            after = resident()
            assert heard > SESSIONS
            assert not any(session.is_running for session in sessions)
    return before, after, few, many


def floor() -> float:
    """Megabytes per thousand plain dicts that hold the same words."""
    before = resident()
    kept = [
        {"id": f"thr_{n}", "messages": ["Look.", f"{n} " + "What there is. " * 13, "Seen. " * 20]}
        for n in range(SESSIONS)
    ]
    after = resident()
    assert len(kept) == SESSIONS
    return after - before


def main() -> None:
    plain = floor()
    before, after, few, many = anyio.run(live)
    grown = after - before
    each = grown / SESSIONS
    ratio = grown / max(plain, 0.01)
    rows = [
        ["kB per session", each * 1e3, plain / SESSIONS * 1e3, ratio, "≤ 500", verdict(each, EACH)],
        ["MB of the process", after, "", "", f"≤ {ALL:g}", verdict(after, ALL)],
    ]
    table(f"{SESSIONS} idle sessions", ["", "ours", "plain dicts", "ratio", "target", ""], rows)
    beside = [["CPU ms of a run of two steps", few, many, many / few]]
    table("Their weight", ["", "beside 20", f"beside {SESSIONS}", "ratio"], beside)


if __name__ == "__main__":
    main()
