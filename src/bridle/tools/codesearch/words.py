"""The words of code and of questions about it: `parseURLQuery` is parse, url and query."""

from __future__ import annotations

import re

from bridle.types.regex import lazy

REMEMBERED = 300_000
_IDENTIFIER = lazy(r"[^\W\d]\w{1,60}")
_PART = lazy(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_A-Za-z]+")
_STOP = frozenset(
    ("the", "of", "in", "to", "is", "are", "it", "an", "and", "or", "for", "on", "by", "with",
     "that", "this", "where", "how", "what", "which", "when", "who", "does", "do", "be", "as",
     "at", "from", "we", "our", "code", "find", "show", "me")
)  # fmt: skip

_known: dict[str, tuple[str, ...]] = {}


def parts(identifier: str) -> tuple[str, ...]:
    """The words of an identifier, and itself where it has several, in lower case."""
    found = _known.get(identifier)
    if found is None:
        pieces = [_stem(piece.lower()) for piece in _PART.findall(identifier)]
        whole = identifier.strip("_").lower()
        found = tuple(dict.fromkeys((*pieces, whole) if len(pieces) > 1 else pieces))
        if len(_known) >= REMEMBERED:
            _known.clear()
        _known[identifier] = found
    return found


def _stem(word: str) -> str:
    """A plural as its singular: whoever asks for retries means retry too."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def words(text: str) -> set[str]:
    """The words of a line."""
    return {word for identifier in _IDENTIFIER.findall(text) for word in parts(identifier)}


def query_words(query: str) -> tuple[str, ...]:
    """The words that a query asks for, without those that every question has."""
    found = [word for name in re.findall(r"\w+", query) for word in parts(name)]
    useful = [word for word in found if word not in _STOP]
    return tuple(dict.fromkeys(useful or found))
