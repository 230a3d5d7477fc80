"""A command's output in bounded memory: the head and the tail stay, the middle is dropped."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridle.ports.processes import OutputLimits


class Capture:
    """Takes what a stream says and keeps at most `limits.keep` bytes of it.

    Nothing is dropped before the limit; when it is passed, everything so far and from then on is
    written to the spill file, made with mode 0600 and never through a link.
    """

    def __init__(self, limits: OutputLimits) -> None:
        self.total = 0
        self.spilled: str | None = None
        self.problem: str | None = None
        self._limits = limits
        self._half = max(1, limits.keep // 2)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._spill: int | None = None
        self._written = 0

    @property
    def truncated(self) -> bool:
        """Whether the middle was dropped."""
        return self.total > 2 * self._half

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self.truncated and self.total + len(data) > 2 * self._half:
            self._open_spill()
            self._write_spill(bytes(self._head) + b"".join(self._tail))
        self.total += len(data)
        if self.truncated:
            self._write_spill(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            while self._tail_size - len(self._tail[0]) >= self._half:
                self._tail_size -= len(self._tail.popleft())

    def text(self) -> str:
        """What was kept, with a line that says what is missing and where it is."""
        head = bytes(self._head)
        tail = b"".join(self._tail)
        if not self.truncated:
            return (head + tail).decode("utf-8", "replace")
        tail = tail[-self._half :]
        dropped = self.total - len(head) - len(tail)
        where = f"; the output is in {self.spilled}" if self.spilled else ""
        marker = f"\n[… {dropped:,} bytes of output left out{where} …]\n"
        return _whole(head, at_end=True) + marker + _whole(tail, at_end=False)

    def close(self) -> None:
        """Close the spill file."""
        if self._spill is not None:
            os.close(self._spill)
            self._spill = None

    def _open_spill(self) -> None:
        path = self._limits.spill
        if path is not None and self._spill is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                self._spill = os.open(path, flags, 0o600)
                self.spilled = path
            except OSError as error:
                self._give_up(error)

    def _write_spill(self, data: bytes) -> None:
        if self._spill is not None:
            data = data[: max(0, self._limits.spill_max - self._written)]
            self._written += len(data)
            try:
                while data:
                    data = data[os.write(self._spill, data) :]
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """The command goes on without its spill file; the result says so."""
        self.close()
        self.spilled = None
        self.problem = f"All of the output could not be kept in a file: {error.strerror}."


def _whole(data: bytes, *, at_end: bool) -> str:
    """Decode without the character that the cut went through."""
    if at_end:
        for drop in range(1, min(4, len(data)) + 1):
            byte = data[-drop]
            if byte & 0xC0 != 0x80:  # the first byte of the last character
                size = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                data = data[:-drop] if size > drop else data
                break
    else:
        skip = 0
        while skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
            skip += 1
        data = data[skip:]
    return data.decode("utf-8", "replace")
