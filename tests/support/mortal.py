"""A store that dies: from one moment on nothing more is read or written, as after `kill -9`."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from bridle.errors import StoreError
from bridle.ports.clock import SystemClock
from bridle.store.owner import this_process
from bridle.store.sqlite.store import SqliteStore
from bridle.types.threads import Owner

_pids = itertools.count(2**22)


class Mortal:
    """A store on a file of its own connection; `die` cuts it off without a word."""

    def __init__(self, path: Path | None) -> None:
        self.inner = SqliteStore(path, clock=SystemClock())
        self.dead = False

    def die(self) -> None:
        self.dead = True

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        async def call(*args: Any, **more: Any) -> Any:
            if self.dead:
                raise StoreError("the process was killed")
            found = await method(*args, **more)
            if self.dead:  # it was committed, and nobody learned of it
                raise StoreError("the process was killed")
            return found

        return call


def stranger() -> Owner:
    """A process of this host that does not live: whoever comes next takes over at once."""
    here = this_process()
    return Owner(host=here.host, boot=here.boot, pid=next(_pids), started="once")
