"""`kill -9` anywhere in a run of thirty steps: nothing committed is lost, nothing is repeated."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

CRASH = Path(__file__).parent.parent / "support" / "crash.py"
SAMPLE = 15
"""How many of about 1,500 points are tried here; `scripts/campaign crash` tries all of them."""


def crash(home: Path, *argv: str) -> list[Any]:
    done = subprocess.run(
        [sys.executable, str(CRASH), str(home), *argv],
        env={"PYTHONPATH": str(CRASH.parent.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.stdout, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_run_killed_at_a_chosen_point_goes_on(tmp_path: Path) -> None:
    outcomes = crash(tmp_path, "matrix", str(SAMPLE))
    assert [o for o in outcomes if o["wrong"]] == []
    assert len(outcomes) == SAMPLE
    assert len(Counter(o["effect"] for o in outcomes)) == 3
    assert all(o["ambiguous"] == 0 for o in outcomes if o["effect"] != "once")


def test_a_run_killed_at_a_random_moment_goes_on(tmp_path: Path) -> None:
    outcomes = crash(tmp_path, "random", "4")
    assert [o for o in outcomes if o["wrong"]] == []


def test_the_control_a_loop_that_records_after_the_act_repeats_itself(tmp_path: Path) -> None:
    (found,) = crash(tmp_path, "naive", "10")
    assert found["repeated"] == 10
