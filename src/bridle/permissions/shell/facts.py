"""What the analysis of a command line says: the commands that could run, and what has no name."""

from __future__ import annotations

from typing import Literal

import msgspec

HOLE = "\x00"
"""Stands in the text of a word for what only the running shell knows."""

Mode = Literal["read", "write", "append"]
Role = Literal["command", "wrapper", "neutral"]


def names(text: str) -> frozenset[str]:
    """The words of a text, as a set: tables are easier to read this way."""
    return frozenset(text.split())


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """A word that a command gets. `text` is exact where the word is literal.

    `holes` are the names of the variables that fill the holes, empty where it is not a variable.
    A word that `splits` can become none or many words. `guess` is a value that it may have.
    """

    text: str
    raw: str = ""
    holes: tuple[str, ...] = ()
    splits: bool = False
    guess: str | None = None

    @property
    def literal(self) -> bool:
        """Is the text exactly what the command gets?"""
        return not self.holes and not self.splits

    @property
    def may_be_option(self) -> bool:
        """Could the word begin with a dash?"""
        return self.text.startswith(("-", HOLE)) or (self.splits and not self.text)


class Assignment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A variable that is set, for one command or for the shell."""

    name: str
    value: Word
    exported: bool = False


class Redirect(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that the shell opens. `cwds` are the directories it may be relative to.

    They are relative to where the command line starts (empty: right there); None is unknown.
    """

    mode: Mode
    target: Word
    cwds: tuple[str, ...] | None = ("",)
    via: tuple[str, ...] = ()


class Unnamed(msgspec.Struct, frozen=True):
    """Something that may run and has no name; it must be asked."""

    reason: str
    raw: str


class SimpleCommand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command that bash could run.

    A `wrapper` only runs the commands that follow it in the analysis; `neutral` is a shell word
    without an effect of its own. `outer` is the index of the command that runs this one, and
    `offset` the place of its first word there, where its words are part of the outer's.
    """

    words: tuple[Word, ...]
    raw: str
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    role: Role = "command"
    via: tuple[str, ...] = ()
    cwds: tuple[str, ...] | None = ("",)
    outer: int | None = None
    offset: int | None = None

    @property
    def name(self) -> str:
        """The command word."""
        return self.words[0].text

    @property
    def text(self) -> str:
        """The words with one space between them."""
        return " ".join(word.text for word in self.words)


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a command line could do, as far as it has a name.

    `redirects` are all of them, also those inside of compound commands; `assignments` are those
    that stay set for the shell. `guesses` are commands that something unnamed may turn out to be:
    good for denying only.
    """

    commands: tuple[SimpleCommand, ...] = ()
    unnamed: tuple[Unnamed, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    guesses: tuple[SimpleCommand, ...] = ()
