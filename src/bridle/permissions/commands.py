"""Matching rule patterns with the commands of a shell line.

A match is certain, impossible, or possible where only the running shell knows a word. Allowing
needs certainty; denying takes the possible seriously.
"""

from __future__ import annotations

import shlex
from enum import Enum
from typing import TYPE_CHECKING

from bridle.permissions.patterns import Pattern, wildcard
from bridle.permissions.shell.effects_git import subcommand
from bridle.permissions.shell.facts import HOLE, SimpleCommand, Word
from bridle.permissions.shell.programs import matched_words, program

if TYPE_CHECKING:
    from collections.abc import Sequence

_CUT = 2000


class Match(Enum):
    """Whether a pattern matches a command."""

    NO = "no"
    MAYBE = "maybe"
    YES = "yes"


def allows(pattern: Pattern, command: SimpleCommand) -> bool:
    """Does the pattern certainly match the command as it is written?"""
    if pattern.kind in ("tool", "whole"):
        return True
    return any(_certain(pattern, words) for words in _writings(command))


def spells(pattern: Pattern, text: str) -> bool:
    """Is this word written out in the pattern, so that whoever wrote it meant it?"""
    return pattern.kind in ("tool", "whole", "exact") or text in pattern.words


def denies(pattern: Pattern, command: SimpleCommand) -> Match:
    """Does the pattern match the command, or could it, in any way it may be written?"""
    if pattern.kind in ("tool", "whole"):
        return Match.YES
    possible = Match.NO
    for words in (*_writings(command), *_without_options(command)):
        base = words[0].text.rsplit("/", 1)[-1]
        for first in {words[0].text, base}:
            written = (Word(first, first, words[0].holes), *words[1:])
            if _certain(pattern, written) or _plain(pattern, written):
                return Match.YES
            if not all(word.literal for word in written) and _possible(pattern, written):
                possible = Match.MAYBE
    return possible


def _writings(command: SimpleCommand) -> list[tuple[Word, ...]]:
    """The command as rules may write it: with its variables in front, and without."""
    words = matched_words(command.words)
    found = [words]
    if command.assignments:
        assigned = tuple(
            Word(f"{entry.name}={entry.value.text}", "", entry.value.holes)
            for entry in command.assignments
        )
        found.append((*assigned, *words))
    return found


def _without_options(command: SimpleCommand) -> list[tuple[Word, ...]]:
    """The command without what can be put between a program and its subcommand."""
    words = command.words
    found = [(words[0], *(word for word in words[1:] if not word.text.startswith("-")))]
    if program(words) == "git":
        found.append((words[0], *words[subcommand(words) :]))
    return [entry for entry in found if entry != words]


def _certain(pattern: Pattern, words: Sequence[Word]) -> bool:
    if pattern.kind == "wildcard":
        return wildcard(pattern.argument).fullmatch(_quoted(words)) is not None
    wanted = pattern.words
    if len(words) < len(wanted) or (pattern.kind == "exact" and len(words) != len(wanted)):
        return False
    return all(
        word.literal and word.text == text for word, text in zip(words, wanted, strict=False)
    )


def _quoted(words: Sequence[Word]) -> str:
    """One text for the words, in which a blank inside of a word is no blank between words."""
    return " ".join(
        shlex.quote(word.text) if any(char in word.text for char in " \t\n'\"") else word.text
        for word in words
    )


def _plain(pattern: Pattern, words: Sequence[Word]) -> bool:
    """Denying also looks at the words without any quotes."""
    text = " ".join(word.text for word in words)
    if pattern.kind == "wildcard":
        return wildcard(pattern.argument).fullmatch(text) is not None
    return False


def _possible(pattern: Pattern, words: Sequence[Word]) -> bool:
    """Could the holes be filled so that the pattern matches?"""
    wanted = pattern.argument if pattern.kind == "wildcard" else " ".join(pattern.words)
    if pattern.kind == "prefix":
        wanted += " *"
    text = " ".join(word.text for word in words)
    if len(text) > _CUT:
        text = text[:_CUT] + HOLE
    wants = [wanted, wanted[:-2]] if wanted.endswith(" *") else [wanted]
    texts = [text]
    if any(word.splits for word in words):
        texts.append(text.replace(" " + HOLE, HOLE))
    return any(overlap(one, other) for one in wants for other in texts)


def overlap(pattern: str, text: str) -> bool:
    """Is there a text that fits both, when `*` and holes stand for anything?"""
    reachable = {0}
    for char in [*pattern, ""]:
        if char == "*":
            reachable = set(range(min(reachable), len(text) + 1)) if reachable else set()
            continue
        closed = _over_holes(reachable, text)
        if char == "":
            return len(text) in closed
        reachable = {
            at if text[at : at + 1] == HOLE else at + 1
            for at in closed
            if at < len(text) and text[at] in (char, HOLE)
        }
        if not reachable:
            return False
    return False


def _over_holes(places: set[int], text: str) -> set[int]:
    found = set(places)
    for place in places:
        at = place
        while at < len(text) and text[at] == HOLE:
            at += 1
            found.add(at)
    return found
