"""From a word as written to the word that a command gets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.permissions.shell.facts import HOLE, Word
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.permissions.shell.tree import Piece, RawWord

_TILDE = lazy(r"~([+\-]?|[\w.-]+)(?=/|$)")
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b",
    "E": "\x1b", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPE = lazy(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))",
    re.DOTALL,
)


class _Build:
    """Collects the text of a word and what is not known of it."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.holes: list[str] = []
        self.splits = False

    def hole(self, name: str = "", *, splits: bool = False) -> None:
        self.text.append(HOLE)
        self.holes.append(name)
        self.splits = self.splits or splits

    def add(self, piece: Piece, *, brackets: bool) -> None:
        match piece.kind:
            case "text" if piece.quoted:
                self.text.append(piece.text)
            case "text":
                self._pattern(piece.text, brackets=brackets)
            case "quoted":
                self.text.append(piece.text if not piece.inner else "")
                for inner in piece.inner:
                    self.add(inner, brackets=brackets)
            case "variable":
                many = piece.text in ("@", "*") or piece.subscript in ("@", "*")
                plain = not piece.operator and not piece.subscript
                name = piece.text if plain else ""
                self.hole(name, splits=many or not piece.quoted)
            case "arithmetic":
                self.hole("#")
            case "process":
                self.text.append("/dev/fd/")
                self.hole()
            case "command" | "array":
                self.hole(splits=not piece.quoted)
            case "ansi" | "locale":
                self.hole()

    def _pattern(self, text: str, *, brackets: bool) -> None:
        for char in text:
            if char in "*?" or (char == "[" and brackets):
                self.hole(splits=True)
            else:
                self.text.append(char)


def value(word: RawWord) -> Word:
    """What a command gets for this word, with holes where only the running shell knows."""
    build = _Build()
    pieces = list(word.pieces)
    unquoted = "".join(piece.text if piece.kind == "text" else "\x01" for piece in word.pieces)
    braces = _brace(unquoted)
    brackets = unquoted.find("[", 0) < unquoted.rfind("]") and unquoted != "[]"
    if braces is not None:
        prefix = unquoted[:braces]
        if "\x01" not in prefix:
            build.text.append("" if any(char in "*?[~" for char in prefix) else prefix)
        build.hole(splits=True)
        return Word("".join(build.text), word.raw, tuple(build.holes), splits=True)
    if pieces and pieces[0].kind == "text":
        tilde = _TILDE.match(pieces[0].text)
        alone = len(pieces) == 1 or (tilde and tilde.end() < len(pieces[0].text))
        if pieces[0].text.startswith("~"):
            build.hole("HOME" if tilde and not tilde[1] and alone else "~")
            rest = pieces[0].text[tilde.end() if tilde else 1 :]
            for char in rest:
                if char in "*?":
                    build.hole(splits=True)
                else:
                    build.text.append(char)
            pieces = pieces[1:]
    for piece in pieces:
        build.add(piece, brackets=brackets)
    text = "".join(build.text)
    guess = guessed(word.pieces, {}) if build.holes else None
    return Word(text, word.raw, tuple(build.holes), splits=build.splits, guess=guess)


def _brace(text: str) -> int | None:
    """Where a brace expansion may begin."""
    first, last = text.find("{"), text.rfind("}")
    between = text[first + 1 : last] if 0 <= first < last else ""
    return first if "," in between or ".." in between else None


def guessed(pieces: Iterable[Piece], known: dict[str, str]) -> str | None:
    """The text that these pieces would have if the known variables have these values."""
    parts: list[str] = []
    for piece in pieces:
        if piece.kind == "ansi":
            parts.append(_ansi(piece.text))
        elif piece.kind == "variable" and piece.text in known and not piece.operator:
            parts.append(known[piece.text])
        elif piece.kind in ("text", "quoted", "locale"):
            inner = guessed(piece.inner, known) if piece.inner else piece.text
            if inner is None:
                return None
            parts.append(inner)
        else:
            return None
    return "".join(parts)


def _ansi(raw: str) -> str:
    def one(found: re.Match[str]) -> str:
        for digits, base in ((found[1], 16), (found[2], 16), (found[3], 16), (found[4], 8)):
            if digits:
                code = int(digits, base)
                return chr(code) if 0 < code <= 0x10FFFF else ""
        return _ESCAPES.get(found[5], "\\" + found[5])

    return _ESCAPE.sub(one, raw[2:-1])
