"""Which calls of a step may run now: a pure function of what the log says about them.

Because it is pure, a drain that finds open calls after a crash knows which of them may have
started: exactly those that this function names.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.journal.calls import CallState


class Concurrency(Fixed, frozen=True, kw_only=True):
    """How many concurrency-safe calls run at once, in all and per category, and how many children.

    Children that a call waits for count as long as they work.
    """

    max: int = 5
    per_category: int = 3
    children: int | None = None


def runnable(calls: Sequence[CallState], bounds: Concurrency) -> list[CallState]:
    """Name the calls that may be running now, in order.

    Concurrency-safe calls run beside one another and may overtake a call that waits for an
    answer. A call that is not concurrency-safe runs alone and never overtakes an open one.
    """
    chosen: list[CallState] = []
    per_category: Counter[str] = Counter()
    waiting_before = False
    children = sum(call.facts.delegates and call.stage == "suspended" for call in calls)
    for call in calls:
        if call.settled:
            continue
        if call.waiting or call.held:
            waiting_before = True
            continue
        if not call.facts.concurrency_safe:
            if not chosen and not waiting_before:
                chosen.append(call)
            break
        if len(chosen) >= bounds.max:
            break
        if call.facts.delegates and bounds.children is not None:
            if children >= bounds.children:
                continue
            children += 1
        if per_category[call.facts.category] < bounds.per_category:
            per_category[call.facts.category] += 1
            chosen.append(call)
    return chosen
