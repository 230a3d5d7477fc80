"""The syntax of a command line, as far as it matters for what would run.

The reader makes these, the walk reads them; nobody else needs them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

PieceKind = Literal[
    "text", "quoted", "variable", "command", "process", "arithmetic", "ansi", "locale", "array"
]
Dialect = Literal["bash", "sh"]


class Unreadable(Exception):
    """This text is not read with certainty; whoever catches it says that it must be asked."""

    def __init__(self, reason: str, at: int) -> None:
        self.reason = reason
        self.at = at
        super().__init__(f"{reason} at {at}")


class Piece(msgspec.Struct, frozen=True):
    """A part of a word: text as it will be, or something that the shell computes.

    `text` is the value of text, the name of a variable, the expression of an arithmetic piece or
    the raw writing of the rest. `problem` says why expanding the piece could run something that
    is not named by its `body`.
    """

    kind: PieceKind
    text: str
    quoted: bool = False
    body: tuple[Node, ...] = ()
    inner: tuple[Piece, ...] = ()
    operator: str = ""
    operand: str = ""
    subscript: str = ""
    problem: str | None = None


class RawWord(msgspec.Struct, frozen=True):
    """One word as written, with the places where it begins and ends."""

    pieces: tuple[Piece, ...]
    raw: str
    start: int

    @property
    def plain(self) -> str | None:
        """The text if it is one unquoted run of characters, as reserved words are."""
        if all(piece.kind == "text" for piece in self.pieces):
            return "".join(piece.text for piece in self.pieces)
        return None


class Assign(msgspec.Struct, frozen=True):
    """`name=value`, `name+=value`, `name[key]=value` or `name=(words)`."""

    name: str
    subscript: str | None
    value: RawWord
    raw: str


class Heredoc(msgspec.Struct):
    """A here-document; its body is filled in where the next line begins."""

    delimiter: str
    quoted: bool
    strips_tabs: bool
    body: RawWord | None = None


class Redirection(msgspec.Struct, frozen=True):
    """An operator and its target."""

    operator: str
    target: RawWord | Heredoc
    descriptor: str = ""


class Simple(msgspec.Struct, frozen=True):
    """Assignments, words and redirections up to the next operator."""

    assigns: tuple[Assign, ...]
    words: tuple[RawWord, ...]
    redirections: tuple[Redirection, ...]
    raw: str
    start: int


CompoundKind = Literal[
    "list",
    "pipeline",
    "subshell",
    "group",
    "if",
    "while",
    "for",
    "case",
    "function",
    "coproc",
    "arithmetic",
    "condition",
]


class Compound(msgspec.Struct, frozen=True):
    """Everything that holds other commands; `words` are those it evaluates itself.

    `name` is the variable of a loop or the name of a function; `only_bash` is set where other
    shells read the same text in another way.
    """

    kind: CompoundKind
    body: tuple[Node, ...] = ()
    words: tuple[RawWord, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    name: str = ""
    only_bash: bool = False


Node = Simple | Compound
