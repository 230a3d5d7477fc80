"""Numbers and names in sentences."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def printable(name: str) -> str:
    """The name of a file as text: bytes that are none are shown, as in `a\\xff`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
