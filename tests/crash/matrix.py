"""Kill a run with kill -9 at a point, go on, and look at what is left.

As a campaign: python tests/crash/matrix.py [EVERY], with a point at every EVERY-th commit and act.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parent / "program.py"
STEPS = 30


@dataclass
class Outcome:
    """What the second process found after the first was killed."""

    committed: int
    lost: int
    acts: Counter[str]
    found: dict[str, Any]
    killed: bool

    @property
    def repeats(self) -> int:
        return sum(count - 1 for count in self.acts.values())


def run(here: Path, effect: str, when: str, at: int) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(PROGRAM), str(here), effect, when, str(at)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


def stored(here: Path) -> dict[int, bytes]:
    if not (here / "store.db").exists():
        return {}
    with sqlite3.connect(here / "store.db") as db:
        try:
            rows = db.execute("select seq, body from events order by seq").fetchall()
        except sqlite3.OperationalError:  # killed before the tables were made
            rows = []
    db.close()
    return {seq: bytes(body) for seq, body in rows}


def crash(effect: str, when: str, at: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        here = Path(name)
        first = run(here, effect, when, at)
        killed = first.returncode == -9
        assert killed or first.returncode == 0, first.stderr
        before = stored(here)
        second = run(here, effect, "never", 0)
        assert second.returncode == 0, second.stderr
        after = stored(here)
        marks = here / "acts"
        acts = Counter(marks.read_text().split()) if marks.exists() else Counter()
        lost = sum(after.get(seq) != body for seq, body in before.items())
        return Outcome(len(before), lost, acts, json.loads(second.stdout.splitlines()[-1]), killed)


def check(effect: str, when: str, at: int) -> Outcome:
    """One point of the matrix; everything that must hold."""
    outcome = crash(effect, when, at)
    found, where = outcome.found, f"{effect} {when} {at}"
    assert outcome.lost == 0, where
    assert found["reason"] == "end_turn", where
    assert found["text"] == "all done", where
    assert found["ends"] == 1, where
    assert found["results"] == found["calls"] == STEPS, where
    assert found["equal"], where
    assert found["seqs"] == list(range(1, len(found["seqs"]) + 1)), where
    if effect == "once":
        assert outcome.repeats == 0, where
        assert found["ambiguous"] <= 1, where
        if when == "acted" and outcome.killed:
            assert found["ambiguous"] == 1, where
    else:
        assert found["ambiguous"] == 0, where
        assert len(outcome.acts) == STEPS, where
    return outcome


def naive_repeats(at: int) -> int:
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        here = Path(name)
        run(here, "once", "naive", at)
        run(here, "once", "naive", 0)
        counts = Counter((here / "acts").read_text().split())
        return sum(count - 1 for count in counts.values())


def main() -> None:
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    points = [("acted", at) for at in range(1, STEPS + 1, every)]
    points += [(when, at) for when in ("before", "after") for at in range(1, 126, every)]
    total = ambiguous = 0
    for effect in ("safe", "keyed", "once"):
        for when, at in points:
            outcome = check(effect, when, at)
            total += outcome.killed
            ambiguous += outcome.found["ambiguous"]
            print(f"\r{total} kills, 0 lost, {ambiguous} ambiguous", end="", file=sys.stderr)
    repeats = sum(naive_repeats(at) for at in range(1, STEPS + 1, every))
    print(
        f"\n{total} kills: 0 committed events lost, 0 repeated `once` acts, {ambiguous} calls told "
        f"as ambiguous, every run ended once and replays equal; control: a loop that records after "
        f"it acts repeats {repeats} acts"
    )


if __name__ == "__main__":
    main()
