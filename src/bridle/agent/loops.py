"""Loop detection on canonical arguments; calls that succeed again and again count too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

REPEATS = 10
LONGEST_PERIOD = 3


def is_looping(trail: Sequence[tuple[str, ...]]) -> bool:
    """Tell whether the last steps are the same few batches of calls over and over.

    `trail` holds the canonical calls of each step. A period of one to three steps that was
    repeated ten times is a loop.
    """
    return any(_repeats(trail, period) for period in range(1, LONGEST_PERIOD + 1))


def _repeats(trail: Sequence[tuple[str, ...]], period: int) -> bool:
    length = period * REPEATS
    if len(trail) < length:
        return False
    tail = trail[-length:]
    pattern = tail[:period]
    if not all(pattern):
        return False
    return all(tail[i] == pattern[i % period] for i in range(length))
