"""An index of a workspace in memory: words to files, brought up to date by size and time.

Files are numbered as they are read. One that changed gets a new number and its old one is dead;
when too many are, the index begins again. It holds words and counts, no text.
"""

from __future__ import annotations

import math
import os
import time
from array import array
from typing import TYPE_CHECKING

from bridle.tools.builtin.ignoring import walk
from bridle.tools.codesearch.symbols import defined_names
from bridle.tools.codesearch.words import count_words, parts
from bridle.types.base import Fixed, Moving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_FILES = 50_000
MAX_FILE_BYTES = 400_000
MAX_BYTES = 400_000_000
IN_DEFINITION = 4
IN_PATH = 3
_BITS, _MOST = 8, 255
"""A posting is a file's number and how often the word occurs in it, at most 255 times."""

K1, B = 1.2, 0.6


class Scored(Fixed, frozen=True):
    """A file and how well it fits."""

    path: str
    score: float


class _File(Moving):
    path: str
    stamp: tuple[int, int]
    words: int
    alive: bool = True


class Index:
    """The words of the files below one root. Its methods block; one thread at a time."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.left_out = 0
        self.read = 0
        self._begin()

    def _begin(self) -> None:
        self._files: list[_File] = []
        self._by_path: dict[str, int] = {}
        self._postings: dict[str, array[int]] = {}
        self._bytes = 0
        self._dead = 0

    def update(self, start: str, *, seconds: float) -> bool:
        """Look at every file below `start` and read those that changed; False when out of time."""
        if self._dead > max(2000, len(self._by_path) // 2):
            self._begin()
        deadline = time.monotonic() + seconds
        prefix = _below(self.root, start)
        gone = {path for path in self._by_path if path.startswith(prefix)}
        self.left_out = self.read = 0
        for path, status in _listed(self.root, start, prefix):
            gone.discard(path)
            stamp = (status.st_mtime_ns, status.st_size)
            number = self._by_path.get(path)
            if number is not None and self._files[number].stamp == stamp:
                continue
            if number is not None:
                self._kill(path)
            if len(self._by_path) >= MAX_FILES or self._bytes + stamp[1] > MAX_BYTES:
                self.left_out += 1
                continue
            self._add(path, stamp)
            if time.monotonic() > deadline:
                return False
        for path in gone:
            self._kill(path)
        return True

    def rank(self, words: Sequence[str], *, below: str = "", limit: int) -> list[Scored]:
        """The files that fit the words best (BM25, more for those that hold more of them)."""
        live = len(self._by_path) or 1
        average = sum(self._files[n].words for n in self._by_path.values()) / live or 1.0
        scores: dict[int, float] = {}
        matched: dict[int, int] = {}
        for word in words:
            weight = self.weight(word)
            for posting in self._postings.get(word, ()):
                number, times = posting >> _BITS, posting & _MOST
                file = self._files[number]
                if not file.alive:
                    continue
                norm = times + K1 * (1 - B + B * file.words / average)
                gain = weight * times * (K1 + 1) / norm
                scores[number] = scores.get(number, 0.0) + gain
                matched[number] = matched.get(number, 0) + 1
        found = [
            Scored(self._files[n].path, score * (0.4 + 0.6 * matched[n] / len(words)))
            for n, score in scores.items()
            if self._files[n].path.startswith(below)
        ]
        return sorted(found, key=lambda scored: (-scored.score, scored.path))[:limit]

    def weight(self, word: str) -> float:
        """How much a word tells: more the fewer files have it."""
        holders = len(self._postings.get(word, ()))
        return math.log(1 + (len(self._files) - holders + 0.5) / (holders + 0.5))

    @property
    def size(self) -> int:
        """How many files it knows."""
        return len(self._by_path)

    def _kill(self, path: str) -> None:
        file = self._files[self._by_path.pop(path)]
        file.alive = False
        self._bytes -= file.stamp[1]
        self._dead += 1

    def _add(self, path: str, stamp: tuple[int, int]) -> None:
        number = len(self._files)
        text = read_text(os.path.join(self.root, path)) or ""
        counts = count_words(text)
        total = sum(counts.values())
        for name in defined_names(text):
            for word in parts(name):
                counts[word] += IN_DEFINITION
        for piece in path.split("/"):
            for name in piece.split("."):
                for word in parts(name):
                    counts[word] += IN_PATH
        for word, times in counts.items():
            posting = number << _BITS | min(times, _MOST)
            try:
                self._postings[word].append(posting)
            except KeyError:
                self._postings[word] = array("Q", (posting,))
        self._files.append(_File(path, stamp, total))
        self._by_path[path] = number
        self._bytes += stamp[1]
        self.read += 1


def read_text(full: str) -> str | None:
    """The text of a regular file that is not large; links are not followed."""
    try:
        fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            body = os.read(fd, MAX_FILE_BYTES + 1)
        finally:
            os.close(fd)
    except OSError:
        return None
    if len(body) > MAX_FILE_BYTES or b"\0" in body[:8192]:
        return None
    return body.decode("utf-8", "replace")


def _below(root: str, start: str) -> str:
    relative = os.path.relpath(start, root)
    return "" if relative == "." else relative + "/"


def _listed(root: str, start: str, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    if not os.path.isdir(start):
        yield os.path.relpath(start, root), os.lstat(start)
        return
    for found in walk(root, start):
        if found.is_dir:
            continue
        path = prefix + found.path
        try:
            yield path, os.lstat(os.path.join(root, path))
        except OSError:
            continue
