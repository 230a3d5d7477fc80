"""From the syntax of a command line to the commands that it could run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from bridle.permissions.shell.builtins import read_builtin
from bridle.permissions.shell.facts import HOLE, Assignment, Redirect, SimpleCommand, Word
from bridle.permissions.shell.notes import Notes
from bridle.permissions.shell.numbers import is_number
from bridle.permissions.shell.reader import Reader
from bridle.permissions.shell.tree import Compound, Dialect, Heredoc, RawWord, Simple, Unreadable
from bridle.permissions.shell.values import value
from bridle.permissions.shell.variables import EVALUATED
from bridle.permissions.shell.words import MAX_DEPTH
from bridle.permissions.shell.wrappers import unwrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridle.permissions.shell.facts import Mode
    from bridle.permissions.shell.reading import Reading
    from bridle.permissions.shell.tree import Node, Piece, Redirection

MAX_COMMANDS = 1000
MAX_WORDS = 5000
_RANGE = re.compile(r"\{-?[0-9]+\.\.-?[0-9]+(?:\.\.-?[0-9]+)?\}")
_COMPARISONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Where(msgspec.Struct, frozen=True):
    """What surrounds a command."""

    dialect: Dialect = "bash"
    depth: int = 0
    piped: bool = False
    repeats: bool = False
    via: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """One command before it is read: its words and what is set up for it."""

    words: tuple[Word, ...]
    raw: str
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    stdin: str | None = None
    outer: int | None = None
    offset: int | None = None


class Walk(Notes):
    """Goes through one command line, and notes what it finds."""

    def text(self, text: str, where: Where) -> None:
        """Read a text as commands, and walk through them."""
        try:
            reader = Reader(text, dialect=where.dialect, depth=where.depth)
        except Unreadable as error:
            self.problem(error.reason, text)
            return
        try:
            reader.program()
        except Unreadable as error:
            self.problem(error.reason, text[max(0, error.at - 20) : error.at + 40])
        if where.depth == 0:
            self.starts, self.opaque = reader.starts, reader.opaque
        self._nodes(reader.done, where)

    def _nodes(self, nodes: Iterable[Node], where: Where) -> None:
        for node in nodes:
            if isinstance(node, Simple):
                self._simple(node, where)
            else:
                self._compound(node, where)

    def _compound(self, node: Compound, where: Where) -> None:
        if node.only_bash and where.dialect == "sh":
            self.problem("only bash reads this in one way", node.kind)
        for word in node.words:
            self._pieces(word.pieces, word.raw, where)
        self._redirections(node.redirections, where)
        match node.kind:
            case "for" | "while" | "function":
                where = replace(where, repeats=True, piped=True)
                if node.name and node.kind == "for":
                    counted = bool(node.words) and all(_counts(word) for word in node.words)
                    self.sets(node.name, number=counted)
                    self._loop_values(node)
            case "coproc":
                self.sets(node.name or "COPROC", number=False)
                where = replace(where, piped=True)
            case "pipeline":
                self._nodes(node.body[:1], where)
                self._nodes(node.body[1:], replace(where, piped=True))
                return
            case "condition":
                self._condition([value(word) for word in node.words])
            case "group" if node.redirections:
                where = replace(where, piped=True)
            case _:
                pass
        self._nodes(node.body, where)

    def _loop_values(self, node: Compound) -> None:
        """A loop gives its variable each of its words, as an assignment would."""
        for word in map(value, node.words):
            if word.literal:
                self.literals.setdefault(node.name, []).append(word.text)
            self.assignments.append(Assignment(node.name, word))

    def _condition(self, words: list[Word]) -> None:
        for index, word in enumerate(words):
            if not word.literal:
                continue
            if word.text in ("-v", "-R") and index + 1 < len(words):
                name = words[index + 1]
                if not (name.literal and _IDENTIFIER.fullmatch(name.text)):
                    self.problem("a test of a computed name", name.raw)
            if word.text in _COMPARISONS:
                for operand in words[max(0, index - 1) : index] + words[index + 1 : index + 2]:
                    self._evaluated(operand)

    def _evaluated(self, word: Word) -> None:
        if word.literal:
            self.numbers.uses(word.text, word.raw)
        elif word.text == HOLE and word.holes[0]:
            self.numbers.uses("" if word.holes[0] == "#" else f"${word.holes[0]}", word.raw)
        else:
            self.problem("the shell evaluates a computed text", word.raw)

    def _pieces(self, pieces: Iterable[Piece], raw: str, where: Where) -> None:
        for piece in pieces:
            if piece.problem:
                self.problem(piece.problem, raw)
            if piece.body:
                feeds = piece.kind == "process" and piece.text.startswith(">")
                self._nodes(piece.body, replace(where, piped=where.piped or feeds))
            if piece.kind == "arithmetic":
                self.numbers.uses(piece.text, raw)
                for inner in piece.inner:
                    if inner.kind == "variable" and not inner.operator:
                        self.numbers.uses(f"${inner.text}", raw)
                    elif inner.kind != "arithmetic":
                        self.problem("the shell evaluates a computed text", raw)
            elif piece.kind == "variable":
                self._variable(piece, raw)
            elif piece.kind == "array":
                name = raw.partition("=")[0].rstrip("+")
                words = (value(RawWord(inner.inner, inner.text, 0)) for inner in piece.inner)
                self.assignments.extend(Assignment(name, word) for word in words)
            elif piece.kind == "quoted" and piece.subscript:
                self.numbers.uses(piece.subscript, raw)
            self._pieces(piece.inner, raw, where)

    def _variable(self, piece: Piece, raw: str) -> None:
        if piece.operator in ("=", ":="):
            self.sets(piece.text, number=False)
        if piece.operator == ":":
            self.numbers.uses(piece.operand, raw)
        if piece.subscript not in ("", "@", "*"):
            self.numbers.uses(piece.subscript, raw)

    def _redirections(
        self, redirections: Sequence[Redirection], where: Where
    ) -> tuple[tuple[Redirect, ...], str | None, bool]:
        """Note the files; give them back with the input that is written down, if it is."""
        found: list[Redirect] = []
        stdin: str | None = None
        reads = False
        for redirection in redirections:
            target = redirection.target
            if isinstance(target, Heredoc):
                target = target.body or RawWord((), "", 0)
            self._pieces(target.pieces, target.raw, where)
            word = value(target)
            operator, number = redirection.operator, redirection.descriptor
            if operator in ("&>", "&>>", "<<<") and where.dialect == "sh":
                self.problem("only bash reads this in one way", operator)
            if operator in ("<<", "<<-", "<<<") and number in ("", "0"):
                stdin = word.text if word.literal else None
                reads = True
                continue
            if number.startswith("{"):
                self.sets(number[1:-1], number=True)
            mode = _mode(operator, number, word)
            reads = reads or (operator in ("<", "<>", "<&") and number in ("", "0"))
            if mode and operator == ">&" and not (word.literal and _PLAIN.fullmatch(word.text)):
                self.problem("the shell expands this file name twice", word.raw)
            if mode:
                found.append(Redirect(mode, word, self.cwds, where.via))
        self.redirects.extend(found)
        return tuple(found), stdin, reads

    def _simple(self, node: Simple, where: Where) -> None:
        redirects, stdin, reads = self._redirections(node.redirections, where)
        exported = bool(node.words)
        assignments: list[Assignment] = []
        for assign in node.assigns:
            self._pieces(assign.value.pieces, assign.raw, where)
            word = value(assign.value)
            counts = (word.literal and is_number(word.text)) or _counts(assign.value)
            if assign.name in EVALUATED and not counts:
                self.problem(f"the shell evaluates what {assign.name} gets", assign.raw)
            self.numbers.sets(assign.name, number=counts)
            if assign.subscript:
                self.numbers.uses(assign.subscript.strip("[]"), assign.raw)
            if word.literal:
                self.literals.setdefault(assign.name, []).append(word.text)
            assignments.append(Assignment(assign.name, word, exported=exported))
        if not node.words:
            self.assignments.extend(assignments)
        for raw_word in node.words:
            self._pieces(raw_word.pieces, raw_word.raw, where)
        words = tuple(value(word) for word in node.words)
        if words:
            stdin = stdin if reads or not where.piped else None
            self._run(Run(words, node.raw, tuple(assignments), redirects, stdin), where)

    def _run(self, run: Run, where: Where) -> None:
        self.words += len(run.words)
        many = len(self.commands) >= MAX_COMMANDS or self.words > MAX_WORDS
        if many or where.depth > MAX_DEPTH:
            self.problem("too many commands in one", run.raw[:60])
            return
        first = run.words[0]
        if not first.literal or not first.text:
            self.problem("the command word is computed", run.raw)
            self.uncertain.append(run.words)
            return
        builtin = read_builtin(run.words)
        reading = builtin or unwrap(run.words, run.stdin)
        index = len(self.commands)
        self.commands.append(
            SimpleCommand(
                words=run.words,
                raw=run.raw,
                assignments=run.assignments,
                redirects=run.redirects,
                role=reading.kind if reading else "command",
                via=where.via,
                cwds=self.cwds,
                outer=run.outer,
                offset=run.offset,
            )
        )
        if reading:
            self._follow(run, reading, index, where, own=builtin is not None)

    def _follow(self, run: Run, reading: Reading, index: int, where: Where, *, own: bool) -> None:
        self.note(run.raw, reading, own=own)
        if reading.moves:
            self.move(None if where.repeats else reading.moves_to)
        for script in reading.guessed_scripts:
            guess = Walk()
            guess.text(script, Where(depth=MAX_DEPTH - 4))
            self.guessed.extend(guess.commands)
        name = run.words[0].text.rsplit("/", 1)[-1]
        below = replace(where, depth=where.depth + 1, via=(*where.via, name))
        counted = index if reading.kind == "command" else run.outer
        for inner in reading.inner:
            offset = inner.offset
            if reading.kind != "command":
                known = run.offset is not None and offset is not None
                offset = (run.offset or 0) + (offset or 0) if known else None
            assignments = run.assignments + reading.environment
            self._run(Run(inner.words, run.raw, assignments, (), run.stdin, counted, offset), below)
        for text, dialect in reading.scripts:
            self.text(text, replace(below, dialect=where.dialect if own else dialect))


def _counts(word: RawWord) -> bool:
    """Does the shell put nothing but numbers in the place of this word?"""
    if len(word.pieces) == 1:
        piece = word.pieces[0]
        if piece.kind == "arithmetic" or (piece.kind == "variable" and piece.text in "#?$!"):
            return True
    return is_number(word.raw) or _RANGE.fullmatch(word.raw) is not None


def _mode(operator: str, descriptor: str, word: Word) -> Mode | None:
    if operator in ("<&", ">&") and re.fullmatch(r"[0-9]*-?", word.text):
        return None
    match operator:
        case "<":
            return "read"
        case "<&":
            return "read" if not word.literal else None
        case ">&":
            return "write" if descriptor in ("", "1") else None
        case ">>" | "&>>":
            return "append"
        case "<<" | "<<-" | "<<<":
            return None
        case _:
            return "write"
