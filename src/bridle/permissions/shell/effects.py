"""What a program does beyond what its name says, and where in its words that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from bridle.permissions.shell.facts import Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal["write", "run", "read"]


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that an allowed prefix does not allow by itself.

    `trigger` is the index of the word that brings it; 0 means that the program does it always,
    so that a rule that names the program means it. `path` is the file, where it is known;
    `spelled` is what a rule must spell out where that is not the word of the trigger.
    """

    kind: Kind
    what: str
    trigger: int = 0
    path: Word | None = None
    spelled: str | None = None


class Spec(msgspec.Struct, frozen=True):
    """The options of a program that write or run; letters of `values` take a value."""

    values: str = ""
    writes: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    valueless: frozenset[str] = frozenset()

    def kind(self, option: str) -> Kind | None:
        """What this option does, also when a long name is cut short."""
        for kind, options in (("write", self.writes), ("run", self.runs)):
            if option in options or (
                option.startswith("--")
                and len(option) > 2
                and any(name.startswith(option) for name in options)
            ):
                return "write" if kind == "write" else "run"
        return None


def computed_option(words: Sequence[Word], first: int = 1) -> Iterator[Effect]:
    """A word that only the shell knows may turn out to be an option."""
    for index, word in enumerate(words[first:], first):
        if word.literal and word.text == "--":
            return
        if not word.literal and word.may_be_option:
            yield Effect("run", f"{word.raw or 'a computed word'} may be an option", index)
            return


def option_effects(words: Sequence[Word], spec: Spec, first: int = 1) -> Iterator[Effect]:
    """The effects of the options that are written in these words."""
    yield from computed_option(words, first)
    for index in range(first, len(words)):
        text = words[index].text
        if text == "--":
            return
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            kind = spec.kind(name)
            if kind:
                path = Word(value, value, words[index].holes) if equals else after(words, index)
                yield _effect(kind, name, index, None if name in spec.valueless else path)
        elif text.startswith("-"):
            yield from _cluster(words, index, spec)


def _cluster(words: Sequence[Word], index: int, spec: Spec) -> Iterator[Effect]:
    word = words[index]
    for at, letter in enumerate(word.text[1:], 2):
        kind = spec.kind("-" + letter)
        rest = word.text[at:]
        if kind:
            path = Word(rest, rest, word.holes) if rest else after(words, index)
            yield _effect(kind, "-" + letter, index, path)
            return
        if letter in spec.values:
            return


def _effect(kind: Kind, option: str, index: int, path: Word | None) -> Effect:
    verb = "writes a file" if kind == "write" else "runs another program"
    return Effect(kind, f"{option} {verb}", index, path if kind == "write" else None)


def after(words: Sequence[Word], index: int) -> Word | None:
    """The word behind this one."""
    return words[index + 1] if index + 1 < len(words) else None


def operands(words: Sequence[Word], values: str = "", first: int = 1) -> list[tuple[int, Word]]:
    """The words that are not options, nor the values of the options with these letters."""
    found: list[tuple[int, Word]] = []
    index, ended = first, False
    while index < len(words):
        text = words[index].text
        if ended or text == "-" or not text.startswith("-"):
            found.append((index, words[index]))
        elif text == "--":
            ended = True
        elif not text.startswith("--") and text[-1] in values and len(text) == 2:
            index += 1
        index += 1
    return found
