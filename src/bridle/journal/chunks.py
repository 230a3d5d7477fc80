"""Redact a text that comes in pieces: what may be the beginning of a secret waits for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.journal.shapes import OPENINGS
from bridle.types.base import Moving
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from bridle.journal.redact import Redactor

LONGEST = 24_000
"""No shape is longer; what waits is never more than this."""

LONGEST_WORD = 100
"""A longer one is not the plain word that most pieces end in."""

_OPEN_BLOCK = lazy(r"-----BEGIN (?:(?!-----END [A-Z0-9 ]*-----)[\s\S])*\Z")
_LAST_WORD = lazy(r"\S+\Z")
_STARTS = lazy(r"(?<![A-Za-z0-9_])[A-Za-z0-9_:-]")
_LINKED = lazy(
    r"(?<![A-Za-z])(?:[Bb]earer|[Bb]asic) \S*\Z"
    r"|(?<![A-Za-z])(?i:s(?:e(?:c(?:r(?:et?)?)?)?)?|secret_?a?c?c?e?s?s?_?k?e?y?)\Z"
    r"|(?i:secret_?access_?key)[\"']?\s{0,3}[:=]?\s{0,3}[\"']?\S*\Z"
)
"""What is known by a name before it, in another word."""

_WHOLE_WORD = lazy(r"://|[?&]|:/?\Z|(?<![A-Za-z0-9_:])\d{1,10}(?::|\Z)")
"""What is known by what stands before it in its word."""

_HINTS = ("earer ", "asic ", "-----", "\n", "ecret", "ECRET", "ccess", "dapi")
"""Where any of these stands, the piece is looked at more closely."""

_PLAIN = frozenset(
    text[:size]
    for group in (*OPENINGS.values(), ("secret",))
    for text in group
    for size in range(1, len(text) + 1)
)
"""Words that may be the beginning of a shape."""


class Chunks(Moving):
    """Holds back as little as it must; `flush` at the end gives the rest."""

    redactor: Redactor
    _held: str = ""

    def feed(self, text: str) -> str:
        """Take the next piece; returns what can be shown now."""
        whole = self._held + text if self._held else text
        if self._harmless(whole):
            self._held = ""
            return self.redactor.text(whole)
        keep = len(whole) - self._waiting(whole)
        shown, self._held = self.redactor.text(whole[:keep]), whole[keep:]
        if self._held and self._cuts(whole, shown):
            shown, self._held = "", whole
        return shown

    def flush(self) -> str:
        """What was held back; nothing follows it any more."""
        rest, self._held = self._held, ""
        return self.redactor.text(rest) if rest else ""

    def _harmless(self, whole: str) -> bool:
        """Most pieces end in a plain word that begins nothing; this is cheap to see."""
        last = whole.rpartition(" ")[2]
        return (
            len(last) <= LONGEST_WORD  # every end of it is looked up: twice as long, four times
            and last.isalpha()
            and last.islower()
            and last not in _PLAIN
            and not any(last[at:] in self.redactor.beginnings for at in range(len(last)))
            and not any(hint in whole for hint in _HINTS)
        )

    def _cuts(self, whole: str, shown: str) -> bool:
        """Would the place where it is held back go through a secret that is complete?"""
        return shown + self.redactor.text(self._held) != self.redactor.text(whole)

    def _waiting(self, whole: str) -> int:
        """How many characters at the end may belong to a secret that is not complete."""
        tail = whole[-LONGEST:]
        waiting = max(self._known(tail), self._shaped(tail))
        if self.redactor.expressions:  # they may match anything: whole lines are shown
            waiting = max(waiting, len(tail) - tail.rfind("\n") - 1)
        return waiting

    def _known(self, tail: str) -> int:
        longest = 0
        for entry in self.redactor.known:
            first, most = entry.text[0], min(len(entry.text) - 1, len(tail))
            at = tail.find(first, len(tail) - most) if most > longest else -1
            while 0 <= at < len(tail) - longest:
                if entry.text.startswith(tail[at:]):
                    longest = len(tail) - at
                    break
                at = tail.find(first, at + 1)
        return longest

    def _shaped(self, tail: str) -> int:
        """The last word, from where it may begin a key; a block of key until its end."""
        if not self.redactor.shapes:
            return 0
        block = _OPEN_BLOCK.search(tail) if "-----BEGIN" in tail else None
        linked = _LINKED.search(tail, max(0, len(tail) - 4000))
        found = block or linked
        waiting = len(tail) - found.start() if found else 0
        last = _LAST_WORD.search(tail, max(0, len(tail) - 12_000))
        if last is None or len(last[0]) <= waiting:
            return waiting
        word = last[0]
        if _WHOLE_WORD.search(word):
            return len(word)
        anchors = self.redactor.openings
        for start in _STARTS.finditer(word):
            rest = word[start.start() :]
            for anchor in anchors.get(start[0], ()):
                if rest.startswith(anchor) or anchor.startswith(rest):
                    return max(waiting, len(rest))
        return waiting
