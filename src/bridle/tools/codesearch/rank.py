"""Which files are about a question: BM25 over the words of their identifiers.

A word is looked for as bytes first; only files that hold it are looked at closely, where it counts
as a part of an identifier: `url` in `parseURL` and `url_of`, not in `curly`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from bridle.tools.codesearch.words import words
from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

K1, B = 1.2, 0.6
IN_DEFINITION = 4
IN_PATH = 3
TESTS = 0.7
"""What a test file counts, unless tests are asked for."""

MOST = 8
"""Occurrences of a word in a file that are counted; more would hardly change a rank."""

_KEYWORDS = (
    b"def", b"class", b"function", b"func", b"fn", b"struct", b"interface", b"enum", b"trait",
    b"type", b"module", b"namespace", b"object", b"record", b"protocol", b"const", b"let", b"var",
    b"sub", b"impl",
)  # fmt: skip
_NAME = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
BEFORE = 60
_TEST = lazy(r"(^|/)(tests?|specs?|__tests__)/|(^|/)test_|[._]test\.|\.spec\.")


class Scored(Fixed, frozen=True):
    """A file and how well it fits."""

    path: str
    score: float


class Query:
    """The words that are asked for, and how each is found in bytes."""

    def __init__(self, asked: Sequence[str]) -> None:
        self.words = tuple(asked)
        self._needles = [Needle(word) for word in asked]
        self.weights: dict[str, float] = {}

    def rank(self, files: Iterable[tuple[str, bytes]], *, limit: int) -> list[Scored]:
        """The files that fit best; `weights` are what each word tells, from then on."""
        total, length = 0, 0
        holders = [0] * len(self.words)
        matched: list[tuple[str, int, list[int]]] = []
        for path, body in files:
            total += 1
            length += len(body)
            counts = self._counts(path, body)
            if counts is not None:
                matched.append((path, len(body), counts))
                for index, times in enumerate(counts):
                    holders[index] += times > 0
        weights = [math.log(1 + (total - held + 0.5) / (held + 0.5)) for held in holders]
        self.weights = dict(zip(self.words, weights, strict=True))
        average = length / total if total else 1.0
        found: list[Scored] = []
        for path, size, counts in matched:
            norm = K1 * (1 - B + B * size / average)
            score = sum(
                weight * times * (K1 + 1) / (times + norm)
                for weight, times in zip(weights, counts, strict=True)
            )
            held = sum(times > 0 for times in counts)
            score *= 0.4 + 0.6 * held / len(counts)
            found.append(Scored(path, score * test_factor(path, self.words)))
        return sorted(found, key=lambda scored: (-scored.score, scored.path))[:limit]

    def _counts(self, path: str, body: bytes) -> list[int] | None:
        """How often each word occurs; None where none does."""
        lower = body.lower()
        counts = [
            needle.count(body, lower) if needle.text in lower else 0 for needle in self._needles
        ]
        place = path.lower().encode("utf-8", "surrogateescape")
        if not any(counts) and not any(needle.text in place for needle in self._needles):
            return None
        in_path = words(path.replace("/", " ").replace(".", " "))
        for index, word in enumerate(self.words):
            counts[index] += IN_PATH if word in in_path else 0
        return counts if any(counts) else None


class Needle:
    """A word as it is found inside identifiers, in any of the ways that programmers write one."""

    def __init__(self, word: str) -> None:
        plural_y = len(word) > 3 and word.endswith("y")
        self.text = (word[:-1] if plural_y else word).encode("utf-8", "surrogateescape")
        ends = rb"(?:[yY]|ies|IES)(?![a-z])" if plural_y else rb"[sS]?(?![a-z])"
        self._end = re.compile(ends)

    def count(self, body: bytes, lower: bytes) -> int:
        """How often it stands in a text; in the name of a definition it counts more."""
        counted, size = 0, len(self.text)
        at = lower.find(self.text)
        while at >= 0 and counted < MOST:
            if _begins(body, at) and self._end.match(body, at + size):
                counted += IN_DEFINITION if _defines(body[max(0, at - BEFORE) : at]) else 1
            at = lower.find(self.text, at + size)
        return counted


def _defines(before: bytes) -> bool:
    """Whether a name is defined after this, the receiver of a Go method included."""
    head = before.rstrip(_NAME)
    if not head.endswith((b" ", b"\t")):
        return False
    head = head.rstrip()
    return head.endswith(_KEYWORDS) or (head.endswith(b")") and b"func (" in head)


def _begins(body: bytes, at: int) -> bool:
    """Whether a part of an identifier begins here."""
    if at == 0:
        return True
    before, here = body[at - 1 : at], body[at : at + 1]
    if not before.isalpha():
        return True
    return here.isupper() and (before.islower() or body[at + 1 : at + 2].islower())


def test_factor(path: str, words: Sequence[str]) -> float:
    """What a file counts: tests count less, and more where they are asked for."""
    if _TEST.search(path) is None:
        return 1.0
    return 1 / TESTS if "test" in words else TESTS
