"""CPU per warm step (no-op tool in the process, durable SQLite log) beside a plain loop.

A step is one model request, its answer, one tool call and its result. The plain loop makes the
same calls and keeps no record.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable

import anyio
from common import PYTHON, scratch, serving, table, verdict
from loops import chat, ours, per_step, plain, plain_http, scripted, wire_script

from bridle.types.tools import Effect

STEPS = 60
WARM = 10
REPEAT = 7
TARGET = 5.0


def measure(run: Callable[[], list[float]]) -> float:
    return min(per_step(run(), WARM, STEPS - 1) for _ in range(REPEAT))


def durable(effect: Effect, url: str | None = None) -> list[float]:
    with scratch() as directory:
        model = chat(url) if url else scripted(STEPS)
        marks, _ = anyio.run(lambda: ours(model, directory / "b.db", effect=effect))
        return marks


def syncs(effect: Effect, steps: int) -> int:
    """How often a run syncs to the disk: by the kernel's count, or by the store's own."""
    if shutil.which("strace") is None:
        with scratch() as directory:
            return anyio.run(lambda: ours(scripted(steps), directory / "b.db", effect=effect))[1]
    done = subprocess.run(
        ["strace", "-c", "-f", "-e", "trace=fsync,fdatasync", PYTHON, __file__, effect, str(steps)],
        capture_output=True,
        text=True,
        check=True,
    )
    counts = re.findall(
        r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+).*f(?:data)?sync$", done.stderr, re.MULTILINE
    )
    return sum(map(int, counts))


def traced(effect: Effect, steps: int) -> None:
    """What `strace` watches: one run of so many steps."""
    with scratch() as directory:
        anyio.run(lambda: ours(scripted(steps), directory / "b.db", effect=effect))


def main() -> None:
    script = measure(lambda: durable("safe"))
    once = measure(lambda: durable("once"))
    floor = measure(lambda: anyio.run(lambda: plain(scripted(STEPS))))
    with serving(wire_script(STEPS)) as server:
        wire = measure(lambda: durable("safe", server.url))
        wire_floor = measure(lambda: plain_http(server.port))
    rows = [
        ["scripted model, safe tool", script, floor, script / floor, verdict(script, TARGET)],
        ["scripted model, once tool", once, floor, once / floor, verdict(once, TARGET)],
        ["chat over HTTP, safe tool", wire, wire_floor, wire / wire_floor, verdict(wire, TARGET)],
    ]
    heads = ["CPU ms per step", "ours", "plain loop", "ratio", f"target ≤ {TARGET:g} ms"]
    table(f"One warm step, {STEPS - WARM} steps, least of {REPEAT} runs", heads, rows)
    counted = [
        [f"{effect} tool", (syncs(effect, 40) - syncs(effect, 20)) / 20]
        for effect in ("safe", "once")
    ]
    by = "strace" if shutil.which("strace") else "the store"
    table(f"Syncs to the disk, counted by {by}", ["fsync + fdatasync", "per step"], counted)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        traced("once" if sys.argv[1] == "once" else "safe", int(sys.argv[2]))
    else:
        main()
