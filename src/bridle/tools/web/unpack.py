"""A body as it arrives, plain or compressed, up to a limit that no compression gets around."""

from __future__ import annotations

import zlib

from bridle.errors import ToolError


class Unpacker:
    """Collects a body; `full` once it is longer than the limit."""

    def __init__(self, limit: int) -> None:
        self.full = False
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take some bytes as they were sent."""
        self._add(data)

    def taken(self) -> bytes:
        """What there is, at most as long as the limit."""
        return b"".join(self._parts)[: self._limit]

    def _add(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        self.full = self._size > self._limit


class Inflater(Unpacker):
    """Inflates gzip and zlib; never more than one byte past the limit, however dense the data."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)

    def feed(self, data: bytes) -> None:
        """Inflate as much as there is room for."""
        try:
            self._add(self._inflate.decompress(data, self._limit + 1 - self._size))
        except zlib.error as error:
            raise ToolError(
                f"The answer says it is compressed, but it is not: {error}.", kind="protocol"
            ) from None

    def taken(self) -> bytes:
        """What there is; a stream that ends in its middle is an error."""
        if not self.full and not self._inflate.eof:
            raise ToolError("The compressed answer ends in its middle.", kind="cut")
        return super().taken()


def unpacker(encoding: str, *, limit: int) -> Unpacker:
    """What reads a body of this `Content-Encoding`; raises `ToolError` for an unknown one."""
    match encoding.strip().lower():
        case "" | "identity":
            return Unpacker(limit)
        case "gzip" | "x-gzip" | "deflate":
            return Inflater(limit)
        case other:
            raise ToolError(
                f"The server sent {other[:40]!r}, a compression that was not asked for.",
                kind="protocol",
            )
