"""What tokens cost and how much fits: the table that ships, the user's own prices, genai-prices.

The table (`prices.json`, made by `scripts/update_prices.py` from the data of genai-prices) is read
in about a millisecond; the package itself costs a quarter of a second to import and is asked only
for models that the table does not know, when the extra `[prices]` is installed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.types.ledger import Price

if TYPE_CHECKING:
    from collections.abc import Iterator


MILLION = 1_000_000


class PerMillion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price as people write it: USD per million tokens."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not 0 <= value < MILLION:
                raise ValueError(f"price.{name} must be USD per million tokens, got {value}")

    def price(self) -> Price:
        """The same price per token."""
        return Price(
            input=self.input / MILLION,
            output=self.output / MILLION,
            cached=None if self.cached is None else self.cached / MILLION,
            cache_write=None if self.cache_write is None else self.cache_write / MILLION,
        )


class Listed(msgspec.Struct, frozen=True, array_like=True):
    """A row of the table. `match` holds tests of a model's name, any of which is enough.

    `=x` equal, `^x` starts with, `*x` contains, `$x` ends with, `~x` regular expression; a list
    of tests must hold together. Prices are USD per million tokens.
    """

    id: str
    match: tuple[str | tuple[str, ...], ...]
    window: int | None
    price: PerMillion
    tiers: tuple[tuple[int, PerMillion], ...] = ()
    retired: bool = False

    def fits(self, name: str) -> bool:
        """Whether this row is about the model of that name."""
        return any(
            _test(test, name) if isinstance(test, str) else all(_test(t, name) for t in test)
            for test in self.match
        )

    def as_price(self) -> Price:
        """The price per token, with its tiers if it has any."""
        flat = self.price.price()
        if not self.tiers:
            return flat
        tiers = tuple((start, price.price()) for start, price in self.tiers)
        return msgspec.structs.replace(flat, tiers=tiers)


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """The prices that ship, by provider, with the release and the day they were taken from."""

    source: str
    day: str
    providers: dict[str, msgspec.Raw]


@cache
def table() -> Table:
    """Read the table that ships; once per process. The rows of a provider stay undecoded."""
    raw = Path(__file__).with_name("prices.json").read_bytes()
    return msgspec.json.decode(raw, type=Table)


@cache
def rows(provider: str) -> tuple[Listed, ...]:
    """All rows of a provider, those of retired models too."""
    raw = table().providers.get(provider)
    return () if raw is None else msgspec.json.decode(raw, type=tuple[Listed, ...])


def find(provider: str, model: str) -> Listed | None:
    """The row of a model; dates written without dashes are tried both ways."""
    name = model.lower()
    dashed = re.sub(r"-(20\d\d)([01]\d)([0-3]\d)(?=-|:|$)", r"-\1-\2-\3", name)
    for candidate in dict.fromkeys((name, dashed)):
        for row in rows(provider):
            if row.fits(candidate):
                return row
    return None


def listed(provider: str) -> Iterator[Listed]:
    """The rows of a provider that are still served."""
    return (row for row in rows(provider) if not row.retired)


def look_up(provider: str, model: str) -> tuple[Price | None, int | None]:
    """Price and context window of a model; None for what nobody knows."""
    row = find(provider, model)
    if row is not None:
        return row.as_price(), row.window
    from bridle.models.price_source import ask_package

    row = ask_package(provider, model)
    return (None, None) if row is None else (row.as_price(), row.window)


def _test(test: str, name: str) -> bool:
    kind, value = test[0], test[1:]
    match kind:
        case "=":
            return name == value
        case "^":
            return name.startswith(value)
        case "*":
            return value in name
        case "$":
            return name.endswith(value)
        case _:
            return re.search(value, name) is not None
