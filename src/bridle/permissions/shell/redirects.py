"""Reading between the words: blanks, comments, line ends, redirections and here-documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.permissions.shell.tree import Heredoc, Piece, RawWord, Redirection, Unreadable
from bridle.permissions.shell.words import CONTINUATION, Words
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from bridle.permissions.shell.tree import Dialect

OPERATORS = frozenset("|&;<>(")

_COMMENT = lazy(r"#[^\n]*")
_BLANKS = lazy(r"(?:[ \t]|\\\n)+")
_REDIRECT = lazy(
    r"(?P<fd>[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?"
    r"(?P<op><<<|<<-|<<|<>|<&|<(?!\()|>>|>\||>&|>(?!\())"
    r"|(?P<both>&>>|&>)"
)


class Redirects(Words):
    """The part of the reader that knows lines and redirections."""

    def __init__(self, text: str, *, dialect: Dialect = "bash", depth: int = 0) -> None:
        super().__init__(text, dialect=dialect, depth=depth)
        self.waiting: list[Heredoc] = []
        self.heredocs = 0

    def blanks(self) -> None:
        """Go over blanks, line continuations and a comment."""
        found = _BLANKS.match(self.text, self.at)
        if found:
            self.at = found.end()
        comment = _COMMENT.match(self.text, self.at)
        if comment:
            self.at = comment.end()

    def newlines(self) -> None:
        """Go over blanks, comments and line ends; here-documents begin at a line end."""
        while True:
            self.blanks()
            if not self.looking_at("\n"):
                return
            self.at += 1
            waiting, self.waiting = self.waiting, []
            for heredoc in waiting:
                self._body(heredoc)

    def unbroken(self) -> None:
        """Refuse an operator that a line continuation could make longer."""
        after = self.at
        while self.text.startswith(CONTINUATION, after):
            after += 2
        if after > self.at and self.text[after : after + 1] in OPERATORS:
            raise Unreadable("an operator is broken over two lines", self.at)

    def redirection(self, into: list[Redirection]) -> bool:
        """Read a redirection if one is next."""
        found = _REDIRECT.match(self.text, self.at)
        if not found:
            return False
        self.at = found.end()
        operator = found["op"] or found["both"]
        self.unbroken()
        blanks = _BLANKS.match(self.text, self.at)
        if blanks:
            self.at = blanks.end()
        start = self.at
        if self.looking_at("#"):
            raise Unreadable("a redirection without a target", start)
        word = self.word()
        if self.at == start:
            raise Unreadable("a redirection without a target", start)
        if operator in ("<<", "<<-"):
            heredoc = _heredoc(word, strips_tabs=operator == "<<-")
            self.waiting.append(heredoc)
            self.heredocs += 1
            into.append(Redirection(operator, heredoc))
        else:
            into.append(Redirection(operator, word, descriptor=found["fd"] or ""))
        return True

    def _body(self, heredoc: Heredoc) -> None:
        start = self.at
        lines: list[str] = []
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            self.at = min(end + 1, len(self.text))
            if heredoc.strips_tabs:
                line = line.lstrip("\t")
            if line == heredoc.delimiter:
                break
            if not heredoc.quoted and (len(line) - len(line.rstrip("\\"))) % 2:
                raise Unreadable("a here-document line that goes on", start)
            lines.append(line + "\n")
        else:
            raise Unreadable("a here-document without an end", start)
        self.opaque.append((start, self.at))
        text = "".join(lines)
        pieces: tuple[Piece, ...] = (Piece("quoted", text, quoted=True),)
        if not heredoc.quoted:
            pieces = self.fresh(text).heredoc_pieces()
        heredoc.body = RawWord(pieces, text, start)


def _heredoc(word: RawWord, *, strips_tabs: bool) -> Heredoc:
    parts: list[str] = []
    for piece in word.pieces:
        inner = piece.inner or (piece,)
        if piece.kind not in ("text", "quoted") or any(
            part.kind not in ("text", "quoted") for part in inner
        ):
            raise Unreadable("a here-document with a computed delimiter", word.start)
        parts.extend(part.text for part in inner)
    delimiter = "".join(parts)
    if not delimiter or "\n" in delimiter or CONTINUATION in word.raw:
        raise Unreadable("a here-document with an odd delimiter", word.start)
    return Heredoc(delimiter, word.plain is None, strips_tabs)
