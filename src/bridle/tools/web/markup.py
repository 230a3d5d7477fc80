"""HTML taken apart into tags and text, in time that grows with its length and no faster.

The parser of the standard library looks for the end of every unclosed tag to the end of the page:
a page of 2 MB made of `<a` keeps it busy for hours. Here nothing is looked at twice but the first
`LONGEST_TAG` characters of a tag.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Literal

from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_TAG = 1000
"""A longer tag ends at its first `>`, also inside quotes."""

RAW = frozenset({"script", "style", "title", "textarea", "xmp"})
_TAG = lazy(r"""[^<>"']*(?:"[^"]*"[^<>"']*|'[^']*'[^<>"']*)*>""")
_NAME = lazy(r"[A-Za-z][^\s/>]{0,40}")
_ATTRIBUTE = lazy(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]+))?""")
_ENDS = {name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in RAW}


class Token(Fixed, frozen=True):
    """A piece of a page: a tag that opens or closes, or the text between two of them."""

    kind: Literal["start", "end", "text"]
    value: str
    attributes: str = ""

    def get(self, name: str) -> str | None:
        """The value of an attribute: empty where it has none, None where it is not there."""
        for found in _ATTRIBUTE.finditer(self.attributes):
            if found[1].lower() == name:
                return unescaped((found[2] or "").strip("\"'"))
        return None


def tokens(page: str) -> Iterator[Token]:
    """The tags and texts of a page, in their order; comments and declarations are left out."""
    at, size = 0, len(page)
    while at < size:
        mark = page.find("<", at)
        if mark < 0:
            yield Token("text", unescaped(page[at:]))
            return
        if mark > at:
            yield Token("text", unescaped(page[at:mark]))
        after = page[mark + 1 : mark + 2]
        if after in ("!", "?"):
            at = _declaration(page, mark)
        elif after == "/" and page[mark + 2 : mark + 3].isalpha():
            name, at = _name(page, mark + 2), _past(page, mark)
            yield Token("end", name)
        elif after.isascii() and after.isalpha():
            name, (attributes, at) = _name(page, mark + 1), _attributes(page, mark + 1)
            yield Token("start", name, attributes)
            if name in RAW:
                end = _ENDS[name].search(page, at)
                stop = end.start() if end else size
                text = page[at:stop]
                yield Token("text", text if name in ("script", "style") else unescaped(text))
                yield Token("end", name)
                at = _past(page, stop) if end else size
        else:
            yield Token("text", "<")
            at = mark + 1


def unescaped(text: str) -> str:
    """Text with its character references read; a number that is none stays as it is."""
    if "&" not in text:
        return text
    try:
        return html.unescape(text)
    except ValueError:  # more digits than Python reads
        return text


def _name(page: str, at: int) -> str:
    found = _NAME.match(page, at)
    return found[0].lower() if found else ""


def _attributes(page: str, at: int) -> tuple[str, int]:
    found = _TAG.match(page, at, at + LONGEST_TAG)
    end = found.end() if found else _past(page, at)
    begin = at + len(_name(page, at))
    return page[begin : min(end, at + LONGEST_TAG * 4)].rstrip(">"), end


def _declaration(page: str, mark: int) -> int:
    if not page.startswith("<!--", mark):
        return _past(page, mark)
    end = page.find("-->", mark + 2)
    return end + 3 if end >= 0 else len(page)


def _past(page: str, at: int) -> int:
    """The place after the next `>`; the end where there is none."""
    return page.find(">", at) + 1 or len(page)
