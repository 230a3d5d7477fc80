"""The long profiles of the kernel's tests: `campaign.py NAME [COUNT]`."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections import Counter
from pathlib import Path

import anyio
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from kernel import test_cancel
from kernel.test_machine import Threads
from support import crash, torn


def crashes(count: int | None) -> int:
    """Kill at every point of a run of thirty steps, or at a sample of them."""
    with tempfile.TemporaryDirectory() as home:
        return _tally(crash.matrix(Path(home), sample=count))


def kills(count: int | None) -> int:
    """Kill at random moments."""
    with tempfile.TemporaryDirectory() as home:
        return _tally(crash.at_random(Path(home), count or 1000))


def _tally(outcomes: object) -> int:
    seen: Counter[str] = Counter()
    for outcome in outcomes:  # type: ignore[attr-defined]
        seen["kills"] += 1
        seen["committed events"] += outcome.committed
        seen["ambiguous calls"] += outcome.ambiguous
        if outcome.wrong:
            seen["wrong"] += 1
            print(outcome, flush=True)
        if seen["kills"] % 50 == 0:
            print(dict(seen), flush=True)
    print(dict(seen))
    return 1 if seen["wrong"] else 0


def threads(count: int | None) -> int:
    """Any order of admissions, wakes, crashes, steers, aborts and answers."""
    profile = settings(
        max_examples=count or 1000,
        stateful_step_count=30,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Threads, settings=profile)  # type: ignore[arg-type]
    print(f"{count or 1000} histories hold")
    return 0


def cancels(_count: int | None) -> int:
    """Cut a turn at every one of its awaits, in three ways."""

    async def everywhere() -> None:
        limits = test_cancel.Limits(timeout=3600)
        for name, cut, more in (
            ("cancelled", test_cancel.cancel, {}),
            ("interrupted", test_cancel.interrupt, {}),
            (
                "out of time",
                test_cancel.strike,
                {"make_clock": test_cancel.Deadlines, "limits": limits},
            ),
        ):
            awaits = await test_cancel.everywhere(cut, 1, **more)
            print(f"{name} at {awaits} awaits: all settled, one end each", flush=True)

    anyio.run(everywhere)
    return 0


def tears(step: int | None) -> int:
    """Cut the write-ahead log at every byte of its last two transactions, or at every n-th."""

    async def cut_everywhere(home: Path) -> int:
        files = await torn.crashed_files(home)
        path = home / "cut.sqlite"
        tried = 0
        for place in torn.cuts(files, step or 1):
            await torn.check_cut(files, path, place)
            tried += 1
            if tried % 1000 == 0:
                print(f"{tried} cuts", flush=True)
        return tried

    with tempfile.TemporaryDirectory() as home:
        tried = anyio.run(cut_everywhere, Path(home))
    print(f"cut at {tried} places: every complete record is there, every tear is told")
    return 0


CAMPAIGNS = {
    "crash": crashes,
    "kills": kills,
    "threads": threads,
    "cancel": cancels,
    "torn": tears,
}


def main(argv: list[str]) -> int:
    name, *rest = argv
    logging.disable()  # what is dropped and denied is counted, not printed
    return CAMPAIGNS[name](int(rest[0]) if rest else None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
