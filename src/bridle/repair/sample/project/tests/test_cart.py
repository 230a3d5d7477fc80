import unittest

from shop.cart import Cart


class CartTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cart = Cart({"pen": 120, "book": 1500})

    def test_an_empty_cart_costs_nothing(self) -> None:
        self.assertEqual(self.cart.total(), 0)

    def test_shipping_is_added(self) -> None:
        self.cart.add("book", 2)
        self.assertEqual(self.cart.total(), 3490)

    def test_removing_everything_empties_the_cart(self) -> None:
        self.cart.add("pen", 2)
        self.cart.remove("pen", 2)
        self.assertEqual(self.cart.quantities, {})

    def test_bulk_discount_applies_to_the_order(self) -> None:
        self.cart.add("pen", 50)
        self.assertEqual(self.cart.subtotal(), 5400)

    def test_unknown_articles_are_refused(self) -> None:
        with self.assertRaises(KeyError):
            self.cart.add("car")
