"""How the cost of a step grows with the length of the thread: at 500 round trips, at 10.

Each message is encoded once and requests are joined bytes, so a step late in a thread should cost
what an early one does. The plain loop encodes the whole history for each request.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
from common import scratch, serving, table, verdict
from loops import chat, ours, per_step, plain, plain_http, scripted, wire_script

from bridle.ports.model import Model

EARLY, LATE = 10, 500
HALF = 8
STEPS = LATE + HALF + 1
REPEAT = 3
TARGET = 1.3


def durable(make: Callable[[], Model]) -> list[float]:
    with scratch() as directory:
        marks, _ = anyio.run(lambda: ours(make(), directory / "b.db"))
        return marks


def measure(run: Callable[[], list[float]]) -> tuple[float, float]:
    """Milliseconds per step early and late, each the least over the runs."""
    runs = [run() for _ in range(REPEAT)]
    early = min(per_step(marks, EARLY - HALF, EARLY + HALF) for marks in runs)
    late = min(per_step(marks, LATE - HALF, LATE + HALF) for marks in runs)
    return early, late


def main() -> None:
    measured = {"scripted model": measure(lambda: durable(lambda: scripted(STEPS)))}
    with serving(wire_script(STEPS)) as server:
        measured["chat over HTTP"] = measure(lambda: durable(lambda: chat(server.url)))
        floor = measure(lambda: plain_http(server.port))
    rows = [
        [name, early, late, late / early, verdict(late / early, TARGET)]
        for name, (early, late) in measured.items()
    ]
    early, late = measure(lambda: anyio.run(lambda: plain(scripted(STEPS))))
    rows.append(["plain loop, scripted model", early, late, late / early, ""])
    rows.append(["plain loop over HTTP", *floor, floor[1] / floor[0], ""])
    heads = ["CPU ms per step", f"at {EARLY}", f"at {LATE}", "ratio", f"target ≤ {TARGET}"]
    table(f"Growth of a step's cost with the thread, least of {REPEAT} runs", heads, rows)


if __name__ == "__main__":
    main()
