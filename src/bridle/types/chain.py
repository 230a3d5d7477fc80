"""The hash chain of a log: each record is bound to all records before it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

GENESIS = "0" * 64


def link(previous: str, body: bytes) -> str:
    """Hash a record together with the hash of the record before it."""
    return hashlib.sha256(previous.encode() + body).hexdigest()


def first_break(
    records: Iterable[tuple[int, str, bytes]], *, head: tuple[int, str] = (0, GENESIS)
) -> int | None:
    """The seq of the first record that is missing or does not follow from those before it.

    `head` is a place that the log is known to have reached. None when everything holds.
    """
    last, expected = GENESIS, 1
    reached = head[0] == 0
    for seq, found, body in records:
        last = link(last, body)
        if seq != expected or found != last:
            return expected
        if head == (seq, found):
            reached = True
        expected += 1
    return None if reached else min(expected, head[0])


def digest(body: bytes) -> str:
    """Name a blob by its content."""
    return hashlib.sha256(body).hexdigest()
