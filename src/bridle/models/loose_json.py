"""JSON as models write it: read what was meant, and say how sure that is.

Strict JSON is tried first. Otherwise: comments, trailing and missing commas, single or typographic
quotes, bare keys, Python's words, raw line breaks and unescaped quotes in strings, missing closing
brackets at the end.
"""

from __future__ import annotations

import json
import re
from typing import Any

_STRICT = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+)(?![\w.])")
_PLAIN = re.compile(r"""[^\\"'`”<]+""")
_NEXT_KEY = re.compile(r"""["'“][\w.-]+["'”]\s*:""")
_BARE = re.compile(r"[A-Za-z_$][\w$.-]*")
_WORDS = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
    "undefined": None,
}
_QUOTES = {'<|"|>': '<|"|>', '"""': '"""', "'''": "'''", '"': '"', "'": "'", "“": "”", "`": "`"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": "\n"}
_DEPTH = 64


class Unreadable(ValueError):
    """The text is not JSON, not even loosely."""


class Torn(Unreadable):
    """The text ends in the middle of a string or before a value: what was meant is unknown."""


def loads(text: str) -> Any:
    """Read the whole text as one value; raises `Unreadable`."""
    value, end = read(text.strip(), 0)
    rest = text.strip()[end:]
    if _SPACE.sub("", rest).strip("`;, \n"):
        raise Unreadable(f"more text after the value: {rest[:40]!r}")
    return value


def read(text: str, start: int) -> tuple[Any, int]:
    """Read one value at a place and say where it ends; raises `Unreadable`, or `Torn`."""
    try:
        return _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        return _Reader(text).value(start, 0)


class _Reader:
    """A descent over the text; positions go in and come out, nothing is copied."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        if depth > _DEPTH:
            raise Unreadable("nested too deeply")
        at = self._skip(at)
        if at >= len(self.text):
            raise Torn("the text ends where a value should be")
        char = self.text[at]
        if char == "{":
            return self._object(at + 1, depth)
        if char in "[(":
            return self._array(at + 1, "]" if char == "[" else ")", depth)
        quote = self._quote(at)
        if quote:
            return self._string(at, quote)
        if number := _NUMBER.match(self.text, at):
            if number.end() == len(self.text) and depth:
                raise Torn("the text ends where a number may go on")
            return _as_number(number.group()), number.end()
        if word := _BARE.match(self.text, at):
            if word.group() in _WORDS:
                return _WORDS[word.group()], word.end()
            return self._bare_string(at)
        raise Unreadable(f"no value at {self.text[at : at + 20]!r}")

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while True:
            at = self._skip(at, ",;")
            if at >= len(self.text):
                return found, at
            if self.text[at] == "}":
                return found, at + 1
            if self.text[at] == "]":
                return found, at
            key, at = self._key(at)
            at = self._skip(at)
            if self.text[at : at + 2] == "=>":
                at += 1
            elif self.text[at : at + 1] not in (":", "="):
                raise (Torn if at >= len(self.text) else Unreadable)(f"no colon after {key!r}")
            found[key], at = self.value(at + 1, depth + 1)

    def _array(self, at: int, close: str, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while True:
            at = self._skip(at, ",")
            if at >= len(self.text):
                return found, at
            if self.text[at] == close:
                return found, at + 1
            if self.text[at] == "}":
                return found, at
            value, at = self.value(at, depth + 1)
            found.append(value)

    def _key(self, at: int) -> tuple[str, int]:
        quote = self._quote(at)
        if quote:
            key, end = self._string(at, quote, key=True)
            return key, end
        bare = _BARE.match(self.text, at)
        if not bare:
            raise Unreadable(f"no key at {self.text[at : at + 20]!r}")
        return bare.group(), bare.end()

    def _quote(self, at: int) -> str:
        return next((q for q in _QUOTES if self.text.startswith(q, at)), "")

    def _string(self, at: int, quote: str, *, key: bool = False) -> tuple[str, int]:
        close = _QUOTES[quote]
        pieces: list[str] = []
        at += len(quote)
        while at < len(self.text):
            char = self.text[at]
            if char == "\\" and len(close) == 1:
                piece, at = self._escape(at + 1)
                pieces.append(piece)
            elif self.text.startswith(close, at) and self._closes(at + len(close), close, key):
                return "".join(pieces), at + len(close)
            else:
                plain = _PLAIN.match(self.text, at)
                end = plain.end() if plain else at + 1
                pieces.append(self.text[at:end])
                at = end
        raise Torn("the text ends inside a string")

    def _escape(self, at: int) -> tuple[str, int]:
        if at >= len(self.text):
            raise Torn("the text ends inside a string")
        char = self.text[at]
        if char == "u":
            digits = self.text[at + 1 : at + 5]
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                return chr(int(digits, 16)), at + 5
            return "\\u", at + 1
        if char in _ESCAPES:
            return _ESCAPES[char], at + 1
        return (char if char in "\"'\\/`" else "\\" + char), at + 1

    def _closes(self, after: int, close: str, key: bool) -> bool:
        """Whether a quote ends the string: it does when what follows could follow a string."""
        if len(close) > 1:
            return True
        after = self._skip(after)
        if after >= len(self.text):
            return True
        char = self.text[after]
        if key:
            return char in ":="
        if char in "}])":
            return True
        if char == ",":
            following = self._skip(after + 1, ",")
            return following >= len(self.text) or bool(
                self._quote(following)
                or self.text[following] in "{[}]"
                or _BARE.match(self.text, following)
                or _NUMBER.match(self.text, following)
            )
        return bool(_NEXT_KEY.match(self.text, after))

    def _bare_string(self, at: int) -> tuple[str, int]:
        """A value without quotes, as in `{path: a.txt}`: up to the next comma or bracket."""
        end = at
        while end < len(self.text) and self.text[end] not in ",}]\n":
            end += 1
        if end >= len(self.text):
            raise Torn("the text ends inside a bare value")
        return self.text[at:end].strip(), end

    def _skip(self, at: int, also: str = "") -> int:
        while True:
            match = _SPACE.match(self.text, at)
            at = match.end() if match else at
            if also and at < len(self.text) and self.text[at] in also:
                at += 1
                continue
            return at


def _as_number(text: str) -> int | float:
    text = text.replace("_", "")
    return float(text) if re.search(r"[.eE]", text) else int(text)
