"""Money in whole cents, so that nothing is lost to rounding."""

from __future__ import annotations


def cents(text: str) -> int:
    """Read an amount such as '12.50' or '3'."""
    whole, _, part = text.strip().partition(".")
    return int(whole) * 100 + int((part + "00")[:2])


def show(amount: int) -> str:
    """Write an amount with two decimals."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100}.{abs(amount) % 100:02d}"


def share(amount: int, percent: int) -> int:
    """Take a percentage, rounded half up."""
    return (amount * percent + 50) // 100
