"""Rules that change the price of a line or of a whole order."""

from __future__ import annotations

from shop.money import share

# Quantity from which a discount holds, and the discount in percent; the largest first.
BULK_DISCOUNTS = ((100, 15), (50, 10), (10, 5))
FREE_SHIPPING_FROM = 50_00
SHIPPING = 4_90


def discount_percent(quantity: int) -> int:
    """The discount for buying many of one thing."""
    for least, percent in BULK_DISCOUNTS:
        if quantity > least:
            return percent
    return 0


def line_price(unit_price: int, quantity: int) -> int:
    """The price of one line of the order, discount included."""
    full = unit_price * quantity
    return full - share(full, discount_percent(quantity))


def shipping(total: int) -> int:
    """What the delivery costs."""
    if total >= FREE_SHIPPING_FROM:
        return 0
    return SHIPPING
