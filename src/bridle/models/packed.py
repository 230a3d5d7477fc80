"""Read an answer that was packed although that was not asked for, as some proxies do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN = frozenset({"", "identity"})
_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})


def unpacker(encoding: str) -> Callable[[bytes], bytes]:
    """What makes plain bytes of a body's pieces, given its `Content-Encoding`.

    Raises ModelError, at once for a packing that is not known, later for one that is broken.
    """
    name = encoding.strip().lower()
    if name in _PLAIN:
        return _as_it_is
    if name not in _ZLIB:
        raise ModelError(f"The answer is packed as {name}, which cannot be read", kind="protocol")
    import zlib

    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)

    def unpack(data: bytes) -> bytes:
        try:
            return inflate.decompress(data)
        except zlib.error as error:
            raise ModelError(f"The answer is not {name}: {error}", kind="protocol") from None

    return unpack


def _as_it_is(data: bytes) -> bytes:
    return data
