"""One drain under a lease that is kept alive beside it."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import anyio
import msgspec

from bridle.agent.ending import Ending
from bridle.errors import BridleError, HeadMoved, LeaseLost, RunError, StoreError
from bridle.journal.recorder import Journal, ThreadLog
from bridle.types.base import Moving
from bridle.types.runs import Failure

if TYPE_CHECKING:
    from bridle.journal.state import ThreadState
    from bridle.ports.clock import Clock
    from bridle.types.threads import Lease, Owner

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
        """Drain a thread that has something to do; raises `ThreadInUse` when somebody else does.

        However it ends, the lease is given back. A defect in the drain ends the run with reason
        `error`, so that whoever waits is told.
        """
        store = self.journal.store
        if not await store.unfinished([thread_id]):
            return  # a wake that somebody else dealt with leaves no trace
        lease, taken = await store.take_lease(thread_id, self.owner, seconds=self.lease_seconds)
        failure: BridleError | None = None
        try:
            await self.journal.publish((taken,))
            state = await self.journal.fold(thread_id)
            thread_log = ThreadLog(journal=self.journal, lease=lease, state=state)
            failure = await self._guarded(thread_log)
        except BaseException:
            await self._let_go(lease)
            raise
        finally:
            self._turns.pop(thread_id, None)
        if failure is not None:
            await self._let_go(lease)
            raise failure
        self._remember(thread_log.state)

    def holds(self, lease: Lease) -> bool:
        """Whether a lease is ours, and not that of another harness in this process."""
        return lease.owner == self.owner

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
                failure = await self._keep(thread_log.lease)
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
            except Exception as error:  # noqa: BLE001 - a defect of ours ends the run, told as such
                trace = "".join(traceback.format_exception(error))
                hidden = self.journal.redactor.text(trace)
                log.error("The drain of %s failed\n%s", thread_log.state.id, hidden)  # noqa: TRY400
                await self._fail(thread_log, error)
            try:
                await self.journal.store.release_lease(thread_log.lease, expect=thread_log.basis)
            except HeadMoved:
                await thread_log.refresh()
                if self.paused:
                    await self._let_go(thread_log.lease)
                    return
            else:
                return

    async def _fail(self, thread_log: ThreadLog, error: Exception) -> None:
        """A defect of ours ends the open run; without one there is only the caller to tell."""
        what = self.journal.redactor.text(f"{type(error).__name__}: {error}")
        if thread_log.state.run is None:
            raise RunError(f"Thread {thread_log.state.id} cannot be drained: {what}") from error
        ending = Ending(log=thread_log, clock=self.clock)
        await ending.fail(Failure(type="internal", message=what))

    async def _keep(self, lease: Lease) -> BridleError:
        """Renew the lease until it is lost; then everything that the drain runs is stopped.

        A store that cannot be written for a moment is asked again while the lease still holds.
        """
        expires = lease.expires
        while True:
            await anyio.sleep(self.lease_seconds / 3)
            try:
                renewed = await self.journal.store.renew_lease(lease, seconds=self.lease_seconds)
            except LeaseLost as error:
                return error
            except BridleError as error:
                if self.clock.now() >= expires:
                    return error
            else:
                expires = renewed.expires

    async def _let_go(self, lease: Lease) -> None:
        """Give a lease back whatever the log says: what is left to do, anybody may do."""
        store = self.journal.store
        with anyio.CancelScope(shield=True), contextlib.suppress(StoreError):
            while True:
                head = await store.head(lease.thread_id)
                with contextlib.suppress(HeadMoved):
                    await store.release_lease(lease, expect=head.seq)
                    return

    def _remember(self, state: ThreadState) -> None:
        """Keep the folds of the threads that were drained last alive."""
        self._recent.pop(state.id, None)
        self._recent[state.id] = state
        while len(self._recent) > REMEMBERED_THREADS:
            self._recent.pop(next(iter(self._recent)))
