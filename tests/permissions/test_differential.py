"""A short run of the parser differential; the whole campaign is `differential.py COUNT`."""

from __future__ import annotations

import os
import random

import pytest

from bridle.permissions.shell.analyse import analyse
from permissions.differential import BWRAP, campaign, fits, named, odd_places
from permissions.grammar import Grammar

pytestmark = pytest.mark.bwrap


@pytest.mark.skipif(not os.path.exists(BWRAP), reason="bubblewrap is not installed")
@pytest.mark.timeout(600)
def test_what_bash_runs_is_within_what_was_named():
    tally = campaign(120, seed=900_000)
    assert tally.missed == []
    assert tally.calls > 150
    assert tally.unnamed < tally.total * 0.6
    assert tally.naive_missed > 20


@pytest.mark.skipif(not os.path.exists(BWRAP), reason="bubblewrap is not installed")
@pytest.mark.timeout(600)
def test_data_in_odd_places_is_not_run_unnamed():
    tally = odd_places(step=29)
    assert tally.missed == []
    assert tally.total > 50


def test_the_comparison_would_notice():
    found = analyse("p0 a $x 'b c' > f")
    assert named(found, ["p0", "a", "b c"])
    assert named(found, ["p0", "a", "1", "2", "b c"])
    assert not named(found, ["p0", "a", "b", "c"])
    assert not named(found, ["p1", "a", "b c"])
    assert not fits(found.commands[0].words[1:], ["b", "b c"])


def test_the_generator_is_deterministic_and_wide():
    assert Grammar(7).line() == Grammar(7).line()
    text = "\n".join(Grammar(random.Random(seed).randint(0, 10**6)).line() for seed in range(300))
    for sign in (
        "$(",
        "`",
        "<<",
        "<<<",
        "&&",
        "||",
        "|&",
        "case",
        "coproc",
        "[[",
        "((",
        "bash -c",
        "xargs",
    ):
        assert sign in text
