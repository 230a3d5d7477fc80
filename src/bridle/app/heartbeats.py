"""Heartbeats: work that repeats while the harness is open and never keeps it open."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from bridle.errors import UserError
from bridle.types.base import Moving
from bridle.types.events import HeartbeatChanged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import TaskGroup

    from bridle.app.config import Heartbeat
    from bridle.ports.clock import Clock

log = logging.getLogger("bridle.heartbeat")


Report = Callable[[HeartbeatChanged], Awaitable[None]]


class _Beating(Moving):
    heartbeat: Heartbeat
    scope: anyio.CancelScope
    ended: anyio.Event
    problem: str | None = None


def check_heartbeats(heartbeats: Sequence[Heartbeat]) -> None:
    """Refuse heartbeats that cannot be told apart or never beat."""
    ids = [heartbeat.id for heartbeat in heartbeats]
    for heartbeat in heartbeats:
        if ids.count(heartbeat.id) > 1:
            raise UserError(f"There are two heartbeats with the id {heartbeat.id!r}.")
        _check_interval(heartbeat)


def _check_interval(heartbeat: Heartbeat) -> None:
    if heartbeat.interval <= 0:
        raise UserError(f"The interval of heartbeat {heartbeat.id!r} must be positive.")


class Heartbeats(Moving):
    """Starts and stops heartbeats. One that is registered again replaces itself."""

    clock: Clock
    tasks: TaskGroup
    report: Report
    _beating: dict[str, _Beating] = msgspec.field(default_factory=dict)

    def register(self, heartbeat: Heartbeat) -> None:
        """Begin a heartbeat."""
        _check_interval(heartbeat)
        old = self._beating.pop(heartbeat.id, None)
        if old is not None:
            old.scope.cancel()  # replaced, not ended: its shutdown is not run
        beating = _Beating(heartbeat, anyio.CancelScope(), anyio.Event())
        self._beating[heartbeat.id] = beating
        self.tasks.start_soon(self._beat, beating, name=f"heartbeat {heartbeat.id}")

    async def remove(self, id: str) -> None:
        """End a heartbeat and run its shutdown."""
        beating = self._beating.pop(id, None)
        if beating is None:
            raise UserError(f"There is no heartbeat {id!r}.")
        await self._end(beating)

    async def stop(self) -> None:
        """End all heartbeats."""
        while self._beating:
            _, beating = self._beating.popitem()
            await self._end(beating)

    async def _end(self, beating: _Beating) -> None:
        beating.scope.cancel()
        await beating.ended.wait()
        if beating.heartbeat.shutdown is not None:
            await self._call(beating, beating.heartbeat.shutdown)

    async def _beat(self, beating: _Beating) -> None:
        heartbeat = beating.heartbeat
        try:
            with beating.scope:
                if not heartbeat.immediate:
                    await self.clock.sleep(heartbeat.interval)
                while True:  # the next beat waits for this one: they never overlap
                    await self._call(beating, heartbeat.handler)
                    await self.clock.sleep(heartbeat.interval)
        finally:
            beating.ended.set()

    async def _call(self, beating: _Beating, function: Any) -> None:
        name, problem = beating.heartbeat.id, None
        try:
            returned = function()
            if inspect.isawaitable(returned):
                await returned
        except Exception as error:  # noqa: BLE001 - it is reported, and the heartbeat beats on
            problem = f"{type(error).__name__}: {error}"
        if problem == beating.problem:
            return  # told already
        beating.problem = problem
        log.log(
            logging.INFO if problem is None else logging.WARNING,
            "Heartbeat %s: %s",
            name,
            problem or "works again",
        )
        await self.report(HeartbeatChanged(heartbeat_id=name, ok=problem is None, error=problem))
