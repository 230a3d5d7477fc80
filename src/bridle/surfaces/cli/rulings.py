"""Decisions as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.runs.why import trace_lines
from bridle.surfaces.cli.output import data

if TYPE_CHECKING:
    from bridle.runs.why import Verdicts


def show_decision(found: Verdicts) -> None:
    """Print a decision, the way to it, and the way round it."""
    data(f"decision  {found.effect}")
    data(f"rule      {found.rule}")
    data(f"layer     {found.layer}")
    if found.source is not None:
        data(f"written   {found.source}")
    if found.reason is not None:
        data(f"reason    {found.reason}")
    if found.answered is not None:
        data(f"answered  {found.answered}")
    data("steps")
    for line in trace_lines(found):
        data(f"  {line}")
    if found.flip is not None:
        data(f"to flip   {found.flip} (gives {found.flip_gives})")
    else:
        data("to flip   no change of the rules does; it is not up to them")
