"""Read records from the bytes of a SQLite database, without SQLite.

What SQLite refuses as damaged still holds whole records. Pages of the file, and of the complete
transactions of its write-ahead log, are looked at one by one; whatever parses as a row of a table
without row ids is given out, and the caller decides by its content whether it is one.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Pages = dict[int, bytes]

MAGIC = b"SQLite format 3\x00"
PAGE_SIZE = 4096
LEAF = 0x0A
WAL_HEADER = 32
FRAME_HEADER = 24
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_LARGEST = 1 << 30


def read_pages(path: Path) -> tuple[Pages, int]:
    """All pages of a database by number, the log's over the file's, and the size of a page."""
    body = path.read_bytes() if path.exists() else b""
    size = _page_size(body)
    pages = {
        number + 1: body[number * size : (number + 1) * size] for number in range(len(body) // size)
    }
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists():
        frames, wal_size = committed_frames(wal.read_bytes())
        if not body.startswith(MAGIC) and wal_size:
            size = wal_size
        if wal_size == size:
            pages.update(frames)
    return pages, size


def rows(pages: Pages, size: int) -> Iterator[tuple[Any, ...]]:
    """Everything that looks like a row of a table without row ids."""
    for number in sorted(pages):
        page = pages[number]
        start = 100 if number == 1 else 0
        if len(page) < size or page[start] != LEAF:
            continue
        count = struct.unpack_from(">H", page, start + 3)[0]
        for place in range(count):
            try:
                (offset,) = struct.unpack_from(">H", page, start + 8 + 2 * place)
                row = _record(_payload(pages, page, offset, size))
            except (struct.error, IndexError, ValueError, KeyError):
                continue  # damaged: not a row
            yield row


def committed_frames(wal: bytes) -> tuple[Pages, int]:
    """The pages of the complete transactions of a write-ahead log, and their size."""
    if len(wal) < WAL_HEADER:
        return {}, 0
    magic, _, size, _, salt1, salt2, sum1, sum2 = struct.unpack_from(">8I", wal)
    if magic not in _WAL_MAGIC or not 512 <= size <= 65536:
        return {}, 0
    words = "<" if magic == _WAL_MAGIC[0] else ">"
    found: Pages = {}
    draft: Pages = {}
    sums = (sum1, sum2)
    step = FRAME_HEADER + size
    for place in range(WAL_HEADER, len(wal) - step + 1, step):
        number, commit, s1, s2, c1, c2 = struct.unpack_from(">6I", wal, place)
        page = wal[place + FRAME_HEADER : place + step]
        sums = _checksum(words, page, _checksum(words, wal[place : place + 8], sums))
        if (s1, s2) != (salt1, salt2) or (c1, c2) != sums:
            break
        draft[number] = page
        if commit:
            found.update(draft)
            draft = {}
    return found, size


def torn_bytes(wal: Path) -> int:
    """How many bytes at the end of a write-ahead log belong to a transaction without an end.

    Only the headers of the frames are read, so this is cheap enough for every start.
    """
    complete, end = WAL_HEADER, WAL_HEADER
    for _, commit, end in _frames(wal):
        if commit:
            complete = end
    return end - complete


def logged_pages(wal: Path) -> set[int]:
    """The numbers of the pages that a write-ahead log holds whole."""
    return {number for number, _, _ in _frames(wal) if number}


def _frames(wal: Path) -> Iterator[tuple[int, bool, int]]:
    """Page number, whether it ends a transaction, and where it ends; a cut one has number 0."""
    try:
        file = wal.open("rb")
    except OSError:
        return
    with file:
        head = file.read(WAL_HEADER)
        if len(head) < WAL_HEADER:
            return
        _, _, size, _, *salts, _, _ = struct.unpack(">8I", head)
        total = os.fstat(file.fileno()).st_size
        place = WAL_HEADER
        while place < total and 512 <= size <= 65536:
            file.seek(place)
            header = file.read(FRAME_HEADER)
            place += FRAME_HEADER + size
            if len(header) < FRAME_HEADER or place > total:
                yield 0, False, total
                return
            number, commit, salt1, salt2, _, _ = struct.unpack(">6I", header)
            if [salt1, salt2] != salts:
                return  # from before the log was begun anew
            yield number, bool(commit), place


def _page_size(body: bytes) -> int:
    if not body.startswith(MAGIC) or len(body) < 18:
        return PAGE_SIZE
    (size,) = struct.unpack_from(">H", body, 16)
    size = 65536 if size == 1 else size
    return size if size >= 512 and size & (size - 1) == 0 else PAGE_SIZE


def _checksum(words: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    one, two = sums
    for first, second in struct.iter_unpack(f"{words}II", data):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


def _payload(pages: Pages, page: bytes, offset: int, size: int) -> bytes:
    """The bytes of a cell, with what overflowed to other pages."""
    length, start = _varint(page, offset)
    if not 0 < length < _LARGEST:
        raise ValueError("not a cell")
    largest = (size - 12) * 64 // 255 - 23
    if length <= largest:
        local = length
    else:
        least = (size - 12) * 32 // 255 - 23
        local = least + (length - least) % (size - 4)
        local = local if local <= largest else least
    if start + local > size:
        raise ValueError("not a cell")
    parts = [page[start : start + local]]
    left = length - local
    (following,) = struct.unpack_from(">I", page, start + local) if left else (0,)
    while left > 0:
        more = pages[following]
        parts.append(more[4 : 4 + min(left, size - 4)])
        left -= min(left, size - 4)
        (following,) = struct.unpack_from(">I", more)
    return b"".join(parts)


def _record(payload: bytes) -> tuple[Any, ...]:
    length, place = _varint(payload, 0)
    kinds = []
    while place < length:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    values = []
    place = length
    for kind in kinds:
        value, place = _value(payload, place, kind)
        values.append(value)
    if place > len(payload):
        raise ValueError("not a record")
    return tuple(values)


def _value(payload: bytes, place: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return None, place
    if kind in (8, 9):
        return kind - 8, place
    if kind == 7:
        return struct.unpack_from(">d", payload, place)[0], place + 8
    if kind < 7:
        width = (0, 1, 2, 3, 4, 6, 8)[kind]
        return int.from_bytes(payload[place : place + width], "big", signed=True), place + width
    if kind < 12:
        raise ValueError("not a record")
    width = (kind - 12) // 2
    body = payload[place : place + width]
    return (body if kind % 2 == 0 else body.decode()), place + width


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for _ in range(8):
        byte = data[place]
        place += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place
    return value << 8 | data[place], place + 1
