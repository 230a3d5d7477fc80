"""Prices from the package genai-prices, as rows of our table.

It reads the data bundled with it, never the network. Used for models that the table does not
know, and by the script that makes the table.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from bridle.models.prices import Listed, PerMillion
from bridle.ports.clock import SystemClock


@cache
def ask_package(provider: str, model: str) -> Listed | None:
    """The row of a model, if the package is installed and knows it."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    try:
        _, info = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return convert(info)


def convert(info: Any) -> Listed | None:
    """Turn a model of genai-prices into a row; None when it is not priced by tokens of text.

    Of prices that depend on the time of day the dearest is taken: a budget must hold at any hour.
    """
    from genai_prices.types import TimeOfDateConstraint

    entries = info.prices if isinstance(info.prices, list) else None
    if entries is None:
        options = [info.prices]
    else:
        today = _today()
        dated = [e for e in entries if not isinstance(e.constraint, TimeOfDateConstraint)]
        active = [e for e in dated if e.constraint is None or e.constraint.active(today)]
        hourly = [e for e in entries if isinstance(e.constraint, TimeOfDateConstraint)]
        options = [e.prices for e in ((active or entries)[-1], *hourly)]
    prices = [vars(option) for option in options]
    if not all(_is_text(price) for price in prices):
        return None
    dearest = max(prices, key=lambda p: (_base(p, "input_mtok") or 0, _base(p, "output_mtok") or 0))
    starts = {t.start for v in dearest.values() if hasattr(v, "tiers") for t in v.tiers}
    return Listed(
        id=info.id,
        match=tuple(_tests(info.match)),
        window=info.context_window,
        price=_per_million(dearest, 0),
        tiers=tuple((start, _per_million(dearest, start + 1)) for start in sorted(starts)),
        retired=bool(info.deprecated),
    )


def _today() -> datetime:
    return datetime.fromtimestamp(SystemClock().now(), UTC)


def _is_text(price: dict[str, Any]) -> bool:
    return not price or ("input_mtok" in price and "output_mtok" in price)


def _base(price: dict[str, Any], key: str) -> Any:
    value = price.get(key)
    return getattr(value, "base", value)


def _per_million(price: dict[str, Any], tokens: int) -> PerMillion:
    def at(key: str) -> float | None:
        value = price.get(key)
        if value is None:
            return None
        if not hasattr(value, "tiers"):
            return float(value)
        passed = [tier.price for tier in value.tiers if tokens > tier.start]
        return float(passed[-1] if passed else value.base)

    return PerMillion(
        input=at("input_mtok") or 0.0,
        output=at("output_mtok") or 0.0,
        cached=at("cache_read_mtok"),
        cache_write=at("cache_write_mtok"),
    )


def _tests(clause: Any) -> list[str | tuple[str, ...]]:
    match type(clause).__name__:
        case "ClauseOr":
            return [test for part in clause.or_ for test in _tests(part)]
        case "ClauseAnd":
            return [tuple(str(t) for part in clause.and_ for t in _tests(part))]
        case "ClauseEquals":
            return ["=" + clause.equals.lower()]
        case "ClauseStartsWith":
            return ["^" + clause.starts_with.lower()]
        case "ClauseContains":
            return ["*" + clause.contains.lower()]
        case "ClauseEndsWith":
            return ["$" + clause.ends_with.lower()]
        case _:
            return ["~" + clause.regex]
