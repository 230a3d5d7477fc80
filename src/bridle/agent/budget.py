"""Room for a request: found in the ledger, waiting where only siblings are in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from bridle.ports.store import Spent
from bridle.types.base import Fixed
from bridle.types.events import BudgetSettled
from bridle.types.ledger import Ask, NoRoom, Room, fit

if TYPE_CHECKING:
    from bridle.journal.run_state import RunState
    from bridle.ports.clock import Clock
    from bridle.ports.store import Store
    from bridle.types.usage import Usage

SIBLING_WAIT_SECONDS = 0.05


class Budget(Protocol):
    """Tells how much of a request its accounts allow."""

    async def room(self, ask: Ask, account: str) -> Room | NoRoom:
        """Find room; `NoRoom` is final."""
        ...


class LedgerBudget(Fixed, frozen=True, kw_only=True):
    """Reads the accounts of the store; those without any cap, only once: caps never change."""

    store: Store
    clock: Clock
    _uncapped: set[str] = msgspec.field(default_factory=set)

    async def room(self, ask: Ask, account: str) -> Room | NoRoom:
        """Find room, waiting for siblings to settle their reservations."""
        while account not in self._uncapped:
            chain = await self.store.accounts(account)
            if chain and all(link.max_usd is link.max_tokens is None for link in chain):
                self._uncapped.add(account)
            found = fit(ask, chain)
            if isinstance(found, Room) or found.final:
                return found
            await self.clock.sleep(SIBLING_WAIT_SECONDS)
        return fit(ask, ())


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


def settlement(run: RunState, usage: Usage, cost: float, *, estimated: bool) -> BudgetSettled:
    """What takes the place of the reservation of a request, now that its cost is known."""
    assert run.reservation is not None, "a request is made with its reservation"
    return BudgetSettled(
        run_id=run.run_id,
        reservation=run.reservation.reservation,
        tokens=usage.total_tokens,
        usd=cost,
        estimated=estimated,
    )


def spent(settled: BudgetSettled) -> Spent:
    """What a settlement means for the ledger."""
    return Spent(reservation=settled.reservation, tokens=settled.tokens, usd=settled.usd)
