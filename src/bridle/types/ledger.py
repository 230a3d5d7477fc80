"""Budget arithmetic: reserve the worst case before a request, settle what it really cost.

An account holds the caps of one run and what it and its descendants have used. A reservation
counts against every account from its own up to the root, so no number of parallel children can
pass any cap on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.types.limits import MIN_OUTPUT_TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.types.usage import Usage


DUST_USD = 1e-9
"""What sums of floats may leave behind; nobody waits for it to be given back."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """The caps of one run and what counts against them."""

    id: str
    parent_id: str | None = None
    max_usd: float | None = None
    max_tokens: int | None = None
    spent_usd: float = 0.0
    spent_tokens: int = 0
    reserved_usd: float = 0.0
    reserved_tokens: int = 0


class Price(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """USD per token; cached input costs as much as other input unless it is told.

    `tiers` holds (threshold, price), ascending: the whole request costs that price when its input
    passes the threshold.
    """

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    cache_write: float | None = None
    tiers: tuple[tuple[int, Price], ...] = ()

    def at(self, input_tokens: int) -> Price:
        """The price of a request with this much input."""
        chosen = self
        for start, price in self.tiers:
            if input_tokens > start:
                chosen = price
        return chosen

    @property
    def dearest_input(self) -> float:
        """What a token of input costs at worst: it may be written to a cache."""
        return max(self.input, self.cache_write or 0.0)

    def cost(self, usage: Usage) -> float:
        """What a request cost. Cached and cache-writing tokens are part of the input."""
        price = self.at(usage.input_tokens)
        cached = price.input if price.cached is None else price.cached
        write = price.input if price.cache_write is None else price.cache_write
        plain = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        return (
            max(plain, 0) * price.input
            + usage.cached_tokens * cached
            + usage.cache_write_tokens * write
            + usage.output_tokens * price.output
        )


FREE = Price()
"""What local and scripted models cost; None is a price that nobody knows."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a request may use at worst: its counted input and the output limit it wants."""

    input_tokens: int
    output_tokens: int
    price: Price = Price()


class Room(msgspec.Struct, frozen=True, tag="room"):
    """The reservation fits, with this output limit."""

    output_tokens: int
    usd: float
    tokens: int


class NoRoom(msgspec.Struct, frozen=True, tag="no_room"):
    """The reservation does not fit. `final` is false when only siblings' reservations block it."""

    why: str
    final: bool


def fit(ask: Ask, chain: Sequence[Account]) -> Room | NoRoom:
    """Clamp the output to what every account on the chain still has, or say why it cannot be."""
    price = ask.price.at(ask.input_tokens)
    output = ask.output_tokens
    floor = min(MIN_OUTPUT_TOKENS, ask.output_tokens)
    waiting: NoRoom | None = None
    for account in chain:
        now = _output_room(ask, account, with_reservations=True)
        if now is None or now >= output:
            continue
        if now < floor:
            later = _output_room(ask, account, with_reservations=False)
            if later is not None and later < floor:
                return NoRoom(_explain(account), final=True)
            waiting = NoRoom(_explain(account), final=False)
        else:
            output = now
    if waiting is not None:
        return waiting
    tokens = ask.input_tokens + output
    usd = ask.input_tokens * price.dearest_input + output * price.output
    return Room(output_tokens=output, usd=usd, tokens=tokens)


def _output_room(ask: Ask, account: Account, *, with_reservations: bool) -> int | None:
    """How many output tokens the account still allows; None when it sets no cap."""
    rooms: list[int] = []
    if account.max_tokens is not None:
        used = account.spent_tokens + (account.reserved_tokens if with_reservations else 0)
        rooms.append(account.max_tokens - used - ask.input_tokens)
    price = ask.price.at(ask.input_tokens)
    if account.max_usd is not None and (price.dearest_input or price.output):
        reserved = account.reserved_usd if account.reserved_usd > DUST_USD else 0.0
        used_usd = account.spent_usd + (reserved if with_reservations else 0.0)
        left = account.max_usd - used_usd - ask.input_tokens * price.dearest_input
        if left < 0:
            rooms.append(-1)
        elif price.output:
            rooms.append(int(left / price.output))
    return min(rooms) if rooms else None


def _explain(account: Account) -> str:
    caps = []
    if account.max_usd is not None:
        caps.append(f"{account.spent_usd:.4f} of {account.max_usd:.4f} USD spent")
    if account.max_tokens is not None:
        caps.append(f"{account.spent_tokens} of {account.max_tokens} tokens used")
    return f"budget of {account.id}: {', '.join(caps)}"
