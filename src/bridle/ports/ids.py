"""Fresh ids, from one place."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.types.ids import make_id

if TYPE_CHECKING:
    from bridle.ports.clock import Clock

NewId = Callable[[str], str]
"""Takes a prefix and returns an id that nobody has."""


def random_ids(clock: Clock) -> NewId:
    """Ids that sort by the clock's time."""

    def new_id(prefix: str) -> str:
        return make_id(prefix, int(clock.now() * 1000), os.urandom(10))

    return new_id
