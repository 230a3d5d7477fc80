"""What a walk through a command line has found so far."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from bridle.permissions.shell.facts import (
    HOLE,
    Analysis,
    Assignment,
    SimpleCommand,
    Unnamed,
    Word,
)
from bridle.permissions.shell.numbers import Numbers
from bridle.permissions.shell.variables import EVALUATED, danger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.permissions.shell.facts import Redirect
    from bridle.permissions.shell.reading import Reading


class Notes:
    """Collects what a command line could do; one of them for one command line."""

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.unnamed: list[Unnamed] = []
        self.redirects: list[Redirect] = []
        self.assignments: list[Assignment] = []
        self.words = 0
        self.starts: set[int] = set()
        self.opaque: list[tuple[int, int]] = []
        self.uncertain: list[tuple[Word, ...]] = []
        self.guessed: list[SimpleCommand] = []
        self.literals: dict[str, list[str]] = {}
        self.numbers = Numbers()
        self.stays: set[str] = set()
        self.cwds: tuple[str, ...] | None = ("",)

    def result(self) -> Analysis:
        """Everything that was found."""
        for name, raw in self.numbers.unsafe():
            self.problem(f"the shell evaluates the value of {name}", raw)
        known = {entry.name for entry in self.assignments}
        for name in sorted((self.stays | self.numbers.computed) - known):
            if danger(name, exported=False) == "runs":
                self.assignments.append(Assignment(name, Word(HOLE, name, ("",))))
        return Analysis(
            commands=tuple(self.commands),
            unnamed=tuple(dict.fromkeys(self.unnamed)),
            redirects=tuple(self.redirects),
            assignments=tuple(self.assignments),
            guesses=(*self.guessed, *self._guesses()),
        )

    def problem(self, reason: str, raw: str) -> None:
        """Note that something may run without a name."""
        self.unnamed.append(Unnamed(reason, raw))

    def sets(self, name: str, *, number: bool) -> None:
        """Note that the shell itself has a new value for this variable."""
        self.numbers.sets(name, number=number)
        self.stays.add(name)
        if name in EVALUATED and not number:
            self.problem(f"the shell evaluates what {name} gets", name)

    def note(self, raw: str, reading: Reading, *, own: bool) -> None:
        """Take over what the command says of variables, directories and unnamed things."""
        for problem in reading.problems:
            self.problem(problem, raw)
        self.uncertain.extend(reading.guesses)
        for name in reading.sets:
            self.sets(name, number=False)
        for name in reading.numbers:
            self.sets(name, number=True)
        for expression in reading.arithmetic:
            self.numbers.uses(expression, raw)
        self.numbers.anything = self.numbers.anything or reading.unknown_sets
        if own:
            self.assignments.extend(reading.environment)

    def move(self, target: Word | None) -> None:
        """Note that the directory changes; None where it is not known to which."""
        if target is None or self.cwds is None or len(self.cwds) > 8:
            self.cwds = None
            return
        if target.text.startswith("~"):
            moved = [posixpath.normpath(target.text)]
            self.cwds = (*self.cwds, *moved) if ".." not in target.text.split("/") else None
            return
        if ".." in target.text.split("/") and any(cwd.startswith("~") for cwd in self.cwds):
            self.cwds = None
            return
        moved = [posixpath.normpath(posixpath.join(cwd, target.text)) for cwd in self.cwds]
        self.cwds = tuple(dict.fromkeys((*self.cwds, *moved)))

    def _guesses(self) -> Iterable[SimpleCommand]:
        """What the uncertain commands are if variables keep the values they are given here."""
        rounds = max([len(values) for values in self.literals.values()], default=1)
        for attempt in range(min(rounds, 4)):
            known = {name: values[attempt % len(values)] for name, values in self.literals.items()}
            for words in self.uncertain:
                guess = _guess(words[0], known)
                if guess:
                    parts = tuple(Word(part, part) for part in guess.split())
                    yield SimpleCommand(words=parts + words[1:], raw=guess)


def _guess(word: Word, known: dict[str, str]) -> str | None:
    if word.literal:
        return word.text
    if word.guess is not None:
        return word.guess
    text = word.text
    for name in word.holes:
        if name not in known:
            return None
        text = text.replace(HOLE, known[name], 1)
    return text
