"""kill -9 before a commit, after a commit, and between an act and its result.

The full matrix is `scripts/campaign crash`.
"""

from __future__ import annotations

import pytest

from crash.matrix import check, naive_repeats

POINTS = [("before", 7), ("after", 8), ("before", 33), ("after", 60), ("acted", 1), ("acted", 17)]


@pytest.mark.parametrize("effect", ["safe", "keyed", "once"])
@pytest.mark.parametrize(("when", "at"), POINTS)
def test_nothing_committed_is_lost_and_nothing_runs_twice_unsaid(
    effect: str, when: str, at: int
) -> None:
    assert check(effect, when, at).killed


def test_a_loop_that_records_after_it_acts_repeats_itself() -> None:
    assert naive_repeats(5) == 1
