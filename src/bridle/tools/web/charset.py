"""From the bytes of a page to its text, by what the server and the page say of its charset."""

from __future__ import annotations

import codecs
import re

from bridle.types.regex import lazy

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NOT_FOR_TEXT = frozenset(
    {
        "idna",
        "punycode",
        "unicode-escape",
        "raw-unicode-escape",
        "undefined",
        "utf-7",
        "mbcs",
        "oem",
    }
)
LEGACY = {"iso8859-1": "cp1252", "ascii": "cp1252", "latin-1": "cp1252"}
"""What browsers read these labels as."""

LOOKED_AT = 2048
_PARAMETER = lazy(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_META = lazy(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = lazy(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)")


def decode(body: bytes, content_type: str, *, cut: bool = False) -> str:
    """Decode a body: a byte order mark, the header, the page itself, UTF-8, else Windows-1252.

    One that was `cut` may end in the middle of a character.
    """
    for mark, name in BOMS:
        if body.startswith(mark):
            return body.removeprefix(codecs.BOM_UTF8).decode(name, "replace")
    said = _PARAMETER.search(content_type)
    head = body[:LOOKED_AT]
    within = _META.search(head) or _XML.search(head)
    for label in (
        said[1] if said else None,
        within[1].decode("ascii", "replace") if within else None,
    ):
        codec = _codec(label)
        if codec is not None:
            return body.decode(codec, "replace")
    try:
        return (_whole(body) if cut else body).decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _codec(label: str | None) -> str | None:
    """The codec that a label means; None where there is none that is meant for text."""
    if not label:
        return None
    try:
        found = codecs.lookup(label)
        "".encode(found.name)  # refuses codecs from bytes to bytes, such as zlib
    except (LookupError, UnicodeError, ValueError):
        return None
    if found.name.replace("_", "-") in NOT_FOR_TEXT:
        return None
    return LEGACY.get(found.name, found.name)


def _whole(body: bytes) -> bytes:
    """The body without a character that was cut at its end."""
    for back in range(1, min(4, len(body)) + 1):
        byte = body[-back]
        if byte < 0x80:
            return body
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return body if back >= needed else body[:-back]
    return body
