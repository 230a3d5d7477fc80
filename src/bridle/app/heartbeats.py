"""Heartbeats: work that repeats while the harness is open and never keeps it open."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from bridle.errors import UserError
from bridle.types.base import Moving

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from bridle.app.config import Heartbeat
    from bridle.ports.clock import Clock

log = logging.getLogger("bridle.heartbeat")


class _Beating(Moving):
    heartbeat: Heartbeat
    scope: anyio.CancelScope
    ended: anyio.Event


class Heartbeats(Moving):
    """Starts and stops heartbeats. One that is registered again replaces itself."""

    clock: Clock
    tasks: TaskGroup
    _beating: dict[str, _Beating] = msgspec.field(default_factory=dict)

    def register(self, heartbeat: Heartbeat) -> None:
        """Begin a heartbeat."""
        if heartbeat.interval <= 0:
            raise UserError(f"The interval of heartbeat {heartbeat.id!r} must be positive.")
        old = self._beating.pop(heartbeat.id, None)
        if old is not None:
            old.scope.cancel()
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
            await self._call(beating.heartbeat, beating.heartbeat.shutdown)

    async def _beat(self, beating: _Beating) -> None:
        heartbeat = beating.heartbeat
        try:
            with beating.scope:
                if not heartbeat.immediate:
                    await self.clock.sleep(heartbeat.interval)
                while True:  # the next beat waits for this one: they never overlap
                    await self._call(heartbeat, heartbeat.handler)
                    await self.clock.sleep(heartbeat.interval)
        finally:
            beating.ended.set()

    async def _call(self, heartbeat: Heartbeat, function: Any) -> None:
        try:
            returned = function()
            if inspect.isawaitable(returned):
                await returned
        except Exception:  # a failing heartbeat is reported and beats on
            log.exception("Heartbeat %s failed", heartbeat.id)
