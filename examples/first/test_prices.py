import unittest

from prices import discounted, total


class Prices(unittest.TestCase):
    def test_a_discount_is_a_percentage(self) -> None:
        self.assertEqual(discounted(2000, 10), 1800)

    def test_no_discount_changes_nothing(self) -> None:
        self.assertEqual(total([199, 301]), 500)

    def test_every_price_gets_the_discount(self) -> None:
        self.assertEqual(total([1000, 3000], percent=50), 2000)


if __name__ == "__main__":
    unittest.main()
