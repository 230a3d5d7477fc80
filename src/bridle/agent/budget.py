"""Room for a request: found in the ledger, waiting where only siblings are in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bridle.ports.store import Spent
from bridle.types.base import Fixed
from bridle.types.events import BudgetSettled
from bridle.types.ledger import Ask, NoRoom, Room, fit

if TYPE_CHECKING:
    from bridle.journal.state import RunState
    from bridle.ports.clock import Clock
    from bridle.ports.store import Store

SIBLING_WAIT_SECONDS = 0.05


class Budget(Protocol):
    """Tells how much of a request its accounts allow."""

    async def room(self, ask: Ask, account: str) -> Room | NoRoom:
        """Find room; `NoRoom` is final."""
        ...


class LedgerBudget(Fixed, frozen=True, kw_only=True):
    """Reads the accounts of the store."""

    store: Store
    clock: Clock

    async def room(self, ask: Ask, account: str) -> Room | NoRoom:
        """Find room, waiting for siblings to settle their reservations."""
        while True:
            found = fit(ask, await self.store.accounts(account))
            if isinstance(found, Room) or found.final:
                return found
            await self.clock.sleep(SIBLING_WAIT_SECONDS)


def worst_case(run: RunState) -> BudgetSettled | None:
    """The settlement of a reservation whose request has no known end; None when there is none."""
    reserved = run.reservation
    if reserved is None:
        return None
    return BudgetSettled(
        run_id=run.run_id,
        reservation=reserved.reservation,
        tokens=reserved.tokens,
        usd=reserved.usd,
        estimated=True,
    )


def spent(settled: BudgetSettled) -> Spent:
    """What a settlement means for the ledger."""
    return Spent(reservation=settled.reservation, tokens=settled.tokens, usd=settled.usd)
