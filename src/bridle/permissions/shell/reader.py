"""Reading a command line: lists, pipelines, simple commands.

It follows the grammar of bash for text that is given to `bash -c`, and stops with `Unreadable`
where that grammar would refuse the text or where its reading depends on options of the shell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.permissions.shell.compound import Compounds
from bridle.permissions.shell.facts import names
from bridle.permissions.shell.tree import (
    Assign,
    Compound,
    Piece,
    RawWord,
    Redirection,
    Simple,
    Unreadable,
)
from bridle.permissions.shell.words import CONTINUATION

if TYPE_CHECKING:
    from bridle.permissions.shell.tree import Dialect, Node

DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[$A-Za-z0-9_@*+\-]*\])?\+?=")
_SUBSCRIPTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[$A-Za-z0-9_@*+\-]*\]")
_ELEMENT = re.compile(r"\[([$A-Za-z0-9_]*)\]\+?=")
_RESERVED = re.compile(
    r"(if|then|elif|else|fi|while|until|do|done|for|select|case|esac|function|coproc|time"
    r"|\[\[|\{|\}|!)(?=[ \t\n;|&()<>]|$)"
)
_RESERVED_WORDS = names(
    "if then elif else fi while until do done for select case esac function coproc time [[ { } !"
)
_TIME_OPTIONS = re.compile(r"(?:-p(?=[ \t\n;|&()<>]|$)[ \t]*)?(?:--(?=[ \t\n]|$)[ \t]*)?")


class Reader(Compounds):
    """Reads commands from a text; `starts` are the places where command words begin."""

    def __init__(self, text: str, *, dialect: Dialect = "bash", depth: int = 0) -> None:
        super().__init__(text, dialect=dialect, depth=depth)
        self.starts: set[int] = set()
        self.done: list[Node] = []
        self.opened: int | None = None

    def program(self) -> tuple[Node, ...]:
        """Read everything. What was read before an error stays in `done`."""
        self._list(frozenset(), self.done)
        if self.at < len(self.text):
            raise Unreadable("an operator that closes nothing", self.at)
        if self.waiting:
            raise Unreadable("a here-document without a body", self.at)
        return tuple(self.done)

    def fresh(self, text: str) -> Reader:
        """A reader of a text of its own, one level deeper."""
        return Reader(text, dialect=self.dialect, depth=self.depth + 1)

    def commands_of(self, text: str) -> tuple[Node, ...]:
        """Read a text of its own, one level deeper."""
        return self.fresh(text).program()

    def nested_commands(self, *, substitution: bool) -> tuple[Node, ...]:
        """Read up to the closing parenthesis, and over it.

        Bash prints a substitution anew before it runs it, and gets here-documents wrong there
        unless they belong to its only command.
        """
        start = self.at
        outer, self.waiting = self.waiting, []
        heredocs = self.heredocs
        self.heredocs = 0 if substitution else heredocs
        self.opened = start if substitution else self.opened
        body = self.commands(frozenset())
        if not self.looking_at(")"):
            raise Unreadable("a parenthesis is not closed", start)
        if self.waiting or (outer and "\n" in self.text[start : self.at]):
            raise Unreadable("a here-document around a parenthesis", start)
        if substitution:
            alone = len(body) == 1 and isinstance(body[0], Simple)
            if self.heredocs and not alone:
                raise Unreadable("a here-document in a substitution", start)
            self.heredocs = heredocs
        self.waiting = outer
        self.at += 1
        return body

    def commands(self, ends: frozenset[str]) -> tuple[Node, ...]:
        """Read commands up to one of these reserved words, `)`, `;;` or the end."""
        nodes: list[Node] = []
        self.deeper()
        self._list(ends, nodes)
        self.depth -= 1
        return tuple(nodes)

    def _list(self, ends: frozenset[str], nodes: list[Node]) -> None:
        while True:
            self.newlines()
            if self.at >= len(self.text) or self.text[self.at] == ")" or self.double_semicolon():
                return
            if self.reserved() in ends:
                return
            node = self._and_or()
            nodes.append(node)
            self.blanks()
            if (self.looking_at(";") and not self.double_semicolon()) or self.looking_at("&"):
                self.at += 1
                self.unbroken()
            elif self.at < len(self.text) and self.text[self.at] not in "\n);":
                closes = isinstance(node, Compound) and self.reserved() in ends
                if not closes:
                    raise Unreadable("unexpected text after a command", self.at)

    def double_semicolon(self) -> bool:
        """Is an end of a case item next?"""
        return self.looking_at(";;") or self.looking_at(";&")

    def reserved(self) -> str | None:
        """The reserved word that is next, if one is."""
        found = _RESERVED.match(self.text, self.at)
        return found[1] if found else None

    def take(self, word: str) -> None:
        """Go over this reserved word, which must be next."""
        self.newlines()
        if self.reserved() != word:
            raise Unreadable(f"expected {word}", self.at)
        self.at += len(word)

    def _and_or(self) -> Node:
        nodes = [self._pipeline()]
        self.blanks()
        while self.looking_at("&&") or self.looking_at("||"):
            self.at += 2
            self.unbroken()
            self.newlines()
            nodes.append(self._pipeline())
            self.blanks()
        return nodes[0] if len(nodes) == 1 else Compound("list", tuple(nodes))

    def _pipeline(self) -> Node:
        prefixed = False
        while self.reserved() in ("!", "time"):
            prefixed = True
            self._prefix()
            if self.at >= len(self.text) or self.text[self.at] in ";&|\n)":
                return Compound("list")
        nodes = [self._command()]
        only_bash = False
        self.blanks()
        while self.looking_at("|") and not self.looking_at("||"):
            self.at += 1
            if self.looking_at("&"):
                only_bash = True
                self.at += 1
            self.unbroken()
            self.newlines()
            nodes.append(self._command())
            self.blanks()
        if len(nodes) == 1 and not prefixed:
            return nodes[0]
        return Compound("pipeline", tuple(nodes), only_bash=only_bash)

    def _prefix(self) -> None:
        timed = self.looking_at("time")
        first = self.opened is not None and not self.text[self.opened : self.at].strip()
        self.at += 4 if timed else 1
        self.blanks()
        if not timed:
            return
        found = _TIME_OPTIONS.match(self.text, self.at)
        self.at = found.end() if found else self.at
        if self.looking_at("-"):
            raise Unreadable("an option of time", self.at)
        self.blanks()
        if first and (self.reserved() or self.looking_at("(") or self._assigns()):
            # There bash does not know the reserved word: it looks for a program of that name.
            raise Unreadable("time at the start of a substitution", self.at)

    def _assigns(self) -> bool:
        return _ASSIGNMENT.match(self.text, self.at) is not None

    def _command(self) -> Node:
        if self.looking_at("("):
            return self.with_redirections(self.parenthesis())
        word = self.reserved()
        if word is None:
            return self.simple()
        return self.with_redirections(self.compound(word))

    def with_redirections(self, node: Compound) -> Compound:
        """Read the redirections behind a compound command."""
        redirections: list[Redirection] = []
        self.blanks()
        while self.redirection(redirections):
            self.blanks()
        if not redirections:
            return node
        return Compound("group", (node,), redirections=tuple(redirections))

    def simple(self) -> Node:
        """Read one simple command, or the definition of a function."""
        start = end = self.at
        assigns: list[Assign] = []
        words: list[RawWord] = []
        redirections: list[Redirection] = []
        while True:
            self.blanks()
            if self.redirection(redirections):
                end = self.at
                continue
            if self.at >= len(self.text) or self.text[self.at] in "\n;|&)":
                break
            if self.looking_at("("):
                return self.function(start, words, others=bool(assigns or redirections))
            assign = None if words else self._assignment()
            if assign:
                assigns.append(assign)
            else:
                words.append(self._argument(words))
            end = self.at
        if end == start:
            raise Unreadable("an operator without a command", start)
        if words:
            self.starts.add(words[0].start)
        raw = self.text[start:end]
        return Simple(tuple(assigns), tuple(words), tuple(redirections), raw, start)

    def _argument(self, words: list[RawWord]) -> RawWord:
        declaring = bool(words) and words[0].plain in DECLARING
        if not words or declaring:
            subscripted = _SUBSCRIPTED.match(self.text, self.at)
            if subscripted and not _SUBSCRIPT.match(self.text, self.at):
                raise Unreadable("a subscript that is not plain", self.at)
        if declaring:
            found = _ASSIGNMENT.match(self.text, self.at)
            if found and self.text.startswith("(", found.end()):
                start = self.at
                self.at = found.end()
                array = self._array()
                pieces = (Piece("text", found[0]), array)
                return RawWord(pieces, self.text[start : self.at], start)
        word = self.word()
        if CONTINUATION in word.raw and (not words or self.text[self.at : self.at + 1] in "<>("):
            raise Unreadable("a word is broken over two lines", word.start)
        if not words and word.plain in _RESERVED_WORDS:
            raise Unreadable("a reserved word out of place", word.start)
        return word

    def _assignment(self) -> Assign | None:
        found = _ASSIGNMENT.match(self.text, self.at)
        if not found:
            return None
        start = self.at
        self.at = found.end()
        if self.looking_at("("):
            value = RawWord((self._array(),), self.text[found.end() : self.at], found.end())
        else:
            value = self.word()
        return Assign(found[1], found[2], value, self.text[start : self.at])

    def _array(self) -> Piece:
        start = self.at
        self.at += 1
        words: list[Piece] = []
        while True:
            self.newlines()
            if self.looking_at(")"):
                break
            element = _ELEMENT.match(self.text, self.at)
            if self.looking_at("[") and not element:
                raise Unreadable("a subscript that is not plain", self.at)
            before = self.at
            word = self.word()
            if self.at == before:
                raise Unreadable("an array that is not plain", start)
            subscript = element[1] if element else ""
            words.append(Piece("quoted", word.raw, inner=word.pieces, subscript=subscript))
        self.at += 1
        if self.at < len(self.text) and self.text[self.at] not in " \t\n;|&)":
            raise Unreadable("text behind an array", self.at)
        return Piece("array", self.text[start : self.at], inner=tuple(words))
