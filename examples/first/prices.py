"""Prices in cents."""


def discounted(cents: int, percent: int) -> int:
    """Take a percentage off a price, rounded down to the cent."""
    return cents - cents * percent // 1000


def total(prices: list[int], percent: int = 0) -> int:
    """Add prices up, each with its discount."""
    return sum(discounted(cents, percent) for cents in prices)
