"""The files of a workspace, kept in memory by size and time so that only changes are read again.

An index of words would answer faster once it stands, but it takes a millisecond a file to build:
20 s at 20,000 files before the first answer. Looking through the bytes takes a twentieth of that.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from bridle.tools.builtin.ignoring import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILES = 100_000
MAX_FILE_BYTES = 400_000
MAX_KEPT = 128_000_000
Stamp = tuple[int, int]


class Corpus:
    """Hands out the bytes of files. Its methods block; one thread at a time."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.left_out = 0
        self.read = 0
        self._kept: dict[str, tuple[Stamp, bytes]] = {}
        self._size = 0

    def files(self, start: str, *, seconds: float) -> Iterator[tuple[str, bytes]]:
        """Every text file below `start` that is not ignored; `left_out` are those it did not reach.

        Paths are relative to the root.
        """
        self.left_out = self.read = 0
        deadline = time.monotonic() + seconds
        seen = 0
        for path, status in _listed(self.root, start):
            seen += 1
            if seen > MAX_FILES or time.monotonic() > deadline:
                self.left_out += 1
                continue
            if status.st_size <= MAX_FILE_BYTES:
                body = self._body(path, (status.st_mtime_ns, status.st_size))
                if body:
                    yield path, body

    def _body(self, path: str, stamp: Stamp) -> bytes:
        known = self._kept.get(path)
        if known is not None:
            if known[0] == stamp:
                return known[1]
            self._size -= len(self._kept.pop(path)[1])
        body = read(os.path.join(self.root, path))
        self.read += 1
        if self._size + len(body) > MAX_KEPT:
            self._drop(len(body))
        self._kept[path] = (stamp, body)
        self._size += len(body)
        return body

    def _drop(self, needed: int) -> None:
        """Forget those that were read first, among them what is gone from the disk."""
        for path in list(self._kept):
            if self._size + needed <= MAX_KEPT:
                return
            self._size -= len(self._kept.pop(path)[1])


def read(full: str) -> bytes:
    """The bytes of a regular text file, empty where it is none; links are not followed."""
    try:
        fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            body = os.read(fd, MAX_FILE_BYTES)
        finally:
            os.close(fd)
    except OSError:
        return b""
    return b"" if b"\0" in body[:8192] else body


def _listed(root: str, start: str) -> Iterator[tuple[str, os.stat_result]]:
    relative = os.path.relpath(start, root)
    if not os.path.isdir(start):
        yield relative, os.lstat(start)
        return
    prefix = "" if relative == "." else relative + "/"
    for found in walk(root, start):
        if not found.is_dir:
            path = prefix + found.path
            try:
                yield path, os.lstat(f"{root}/{path}")
            except OSError:  # gone since it was listed
                continue
