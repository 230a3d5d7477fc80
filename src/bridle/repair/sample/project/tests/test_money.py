import unittest

from shop.money import cents, share, show


class MoneyTest(unittest.TestCase):
    def test_reads_whole_and_broken_amounts(self) -> None:
        self.assertEqual(cents("3"), 300)
        self.assertEqual(cents("12.5"), 1250)
        self.assertEqual(cents(" 0.07 "), 7)

    def test_shows_two_decimals(self) -> None:
        self.assertEqual(show(1205), "12.05")
        self.assertEqual(show(-5), "-0.05")

    def test_rounds_half_up(self) -> None:
        self.assertEqual(share(1010, 5), 51)
        self.assertEqual(share(100, 15), 15)
