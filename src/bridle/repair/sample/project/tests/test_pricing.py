import unittest

from shop.pricing import discount_percent, line_price, shipping


class PricingTest(unittest.TestCase):
    def test_few_pieces_have_no_discount(self) -> None:
        self.assertEqual(discount_percent(1), 0)
        self.assertEqual(discount_percent(9), 0)

    def test_many_pieces_are_cheaper(self) -> None:
        self.assertEqual(discount_percent(12), 5)
        self.assertEqual(discount_percent(70), 10)
        self.assertEqual(discount_percent(500), 15)

    def test_the_discount_begins_with_the_stated_quantity(self) -> None:
        self.assertEqual(discount_percent(10), 5)
        self.assertEqual(discount_percent(50), 10)
        self.assertEqual(discount_percent(100), 15)

    def test_line_price(self) -> None:
        self.assertEqual(line_price(250, 2), 500)
        self.assertEqual(line_price(250, 20), 4750)

    def test_large_orders_ship_free(self) -> None:
        self.assertEqual(shipping(4999), 490)
        self.assertEqual(shipping(5000), 0)
