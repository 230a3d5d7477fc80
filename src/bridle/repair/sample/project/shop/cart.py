"""What a customer is about to buy."""

from __future__ import annotations

from dataclasses import dataclass, field

from shop.pricing import line_price, shipping


@dataclass
class Cart:
    """Quantities by article, with the price of one piece."""

    prices: dict[str, int]
    quantities: dict[str, int] = field(default_factory=dict)

    def add(self, article: str, quantity: int = 1) -> None:
        """Put some pieces of an article into the cart."""
        if article not in self.prices:
            raise KeyError(article)
        self.quantities[article] = self.quantities.get(article, 0) + quantity

    def remove(self, article: str, quantity: int = 1) -> None:
        """Take pieces out again; an article without pieces leaves the cart."""
        left = self.quantities.get(article, 0) - quantity
        if left > 0:
            self.quantities[article] = left
        else:
            self.quantities.pop(article, None)

    def subtotal(self) -> int:
        """The price of the articles."""
        return sum(line_price(self.prices[a], n) for a, n in self.quantities.items())

    def total(self) -> int:
        """The price of the order with its delivery; an empty cart costs nothing."""
        if not self.quantities:
            return 0
        subtotal = self.subtotal()
        return subtotal + shipping(subtotal)
