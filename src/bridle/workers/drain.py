"""One drain under a lease that is kept alive beside it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import anyio
import msgspec

from bridle.errors import BridleError, HeadMoved
from bridle.gate.run import interrupted
from bridle.journal.recorder import Journal, ThreadLog
from bridle.types.base import Moving
from bridle.types.events import ErrorRaised, RunEnded
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from bridle.journal.state import ThreadState
    from bridle.ports.clock import Clock
    from bridle.types.threads import Owner

LEASE_SECONDS = 30.0
REMEMBERED_THREADS = 64
log = logging.getLogger("bridle.drain")


class Turn(Protocol):
    """What a drain does with its thread."""

    async def drain(self) -> None:
        """Do everything that can be done now."""
        ...

    def pause(self) -> None:
        """Rest at the next safe boundary."""
        ...


MakeTurn = Callable[[ThreadLog], Turn]


class Drain(Moving, kw_only=True):
    """Takes leases and drains threads, remembering their folded state between drains."""

    journal: Journal
    make_turn: MakeTurn
    owner: Owner
    clock: Clock
    lease_seconds: float = LEASE_SECONDS
    paused: bool = False
    _turns: dict[str, Turn] = msgspec.field(default_factory=dict)
    _recent: dict[str, ThreadState] = msgspec.field(default_factory=dict)

    async def run(self, thread_id: str) -> None:
        """Drain a thread; raises `ThreadInUse` when somebody else does.

        A defect in the drain ends the run with reason `error`, so that whoever waits is told.
        """
        store = self.journal.store
        lease, taken = await store.take_lease(thread_id, self.owner, seconds=self.lease_seconds)
        await self.journal.publish((taken,))
        state = await self.journal.fold(thread_id)
        thread_log = ThreadLog(journal=self.journal, lease=lease, state=state)
        try:
            failure = await self._guarded(thread_log)
        finally:
            self._turns.pop(thread_id, None)
        if failure is not None:
            raise failure
        self._remember(thread_log.state)

    def pause(self) -> None:
        """Let every drain rest at its next safe boundary; runs stay open and can be resumed."""
        self.paused = True
        for turn in self._turns.values():
            turn.pause()

    async def _guarded(self, thread_log: ThreadLog) -> BridleError | None:
        """Drain beside the task that keeps the lease; what stops it is returned, not grouped."""
        failure: BridleError | None = None
        async with anyio.create_task_group() as tasks:

            async def keep() -> None:
                nonlocal failure
                failure = await self._keep(thread_log)
                tasks.cancel_scope.cancel()

            tasks.start_soon(keep)
            try:
                await self._drain(thread_log)
            except BridleError as error:
                failure = failure or error
            tasks.cancel_scope.cancel()
        return failure

    async def _drain(self, thread_log: ThreadLog) -> None:
        turn = self._turns[thread_log.state.id] = self.make_turn(thread_log)
        if self.paused:
            turn.pause()
        while True:
            try:
                await turn.drain()
            except BridleError:
                raise
            except Exception as error:
                log.exception("The drain of %s failed", thread_log.state.id)
                await _fail(thread_log, error)
            try:
                await self.journal.store.release_lease(
                    thread_log.lease, expect=thread_log.state.seq
                )
            except HeadMoved:
                await thread_log.refresh()
                if self.paused:
                    return
            else:
                return

    async def _keep(self, thread_log: ThreadLog) -> BridleError:
        """Renew the lease until that fails; then everything that the drain runs is stopped."""
        while True:
            await anyio.sleep(self.lease_seconds / 3)
            try:
                await self.journal.store.renew_lease(thread_log.lease, seconds=self.lease_seconds)
            except BridleError as error:
                return error

    def _remember(self, state: ThreadState) -> None:
        """Keep the folds of the threads that were drained last alive."""
        self._recent.pop(state.id, None)
        self._recent[state.id] = state
        while len(self._recent) > REMEMBERED_THREADS:
            self._recent.pop(next(iter(self._recent)))


async def _fail(thread_log: ThreadLog, error: Exception) -> None:
    """End the open run because of a defect of ours; its calls get their results first."""
    while (run := thread_log.state.run) is not None:
        failure = Failure(type="internal", message=f"{type(error).__name__}: {error}")
        stopped = [interrupted(run.run_id, c, "the run failed") for c in run.open_calls]
        ended = RunEnded(
            run_id=run.run_id,
            reason="error",
            verdict="stopped",
            usage=run.usage,
            cost_usd=run.cost_usd,
            error=failure,
        )
        try:
            raised = ErrorRaised(run_id=run.run_id, error=failure)
            await thread_log.decide(*stopped, raised, ended)
        except HeadMoved:
            continue
