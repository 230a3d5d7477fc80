"""News that arrived while work was cut are looked at before anything else is begun."""

from __future__ import annotations

from typing import Any

import anyio

from bridle.agent.working import Working
from bridle.ports.clock import SystemClock


class CutLog:
    """A log whose reading is cut."""

    is_current = False

    async def refresh(self) -> None:
        await anyio.sleep_forever()


async def test_a_look_that_was_cut_is_made_again() -> None:
    log: Any = CutLog()
    working = Working(log=log, clock=SystemClock())
    working.news.set()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await working.refresh()
    assert scope.cancelled_caught
    assert working.news.is_set()


async def test_a_look_that_found_nothing_is_over() -> None:
    log: Any = CutLog()
    log.is_current = True
    working = Working(log=log, clock=SystemClock())
    working.news.set()
    await working.refresh()
    assert not working.news.is_set()
