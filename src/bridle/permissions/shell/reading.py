"""How a command is read further: what it runs, sets or changes besides being itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bridle.permissions.shell.facts import HOLE, Assignment, Role, Word
from bridle.permissions.shell.tree import Dialect

if TYPE_CHECKING:
    from collections.abc import Sequence


class Inner(msgspec.Struct, frozen=True):
    """A command that another one runs; `offset` is where its words begin in the outer's."""

    words: tuple[Word, ...]
    offset: int | None = None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a command's words.

    `kind` is how the command itself counts: a `wrapper` needs no permission of its own, `neutral`
    has no effect. `scripts` are texts that a shell reads. `problems` say what may run without a
    name, `guesses` what that may be. `sets` are variables that get a value which may be anything,
    `numbers` those that get a number; `unknown_sets` means that any variable may have changed.
    `arithmetic` are expressions that the shell evaluates.
    """

    kind: Role = "command"
    inner: tuple[Inner, ...] = ()
    scripts: tuple[tuple[str, Dialect], ...] = ()
    problems: tuple[str, ...] = ()
    guesses: tuple[tuple[Word, ...], ...] = ()
    guessed_scripts: tuple[str, ...] = ()
    environment: tuple[Assignment, ...] = ()
    sets: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    arithmetic: tuple[str, ...] = ()
    unknown_sets: bool = False
    moves: bool = False
    moves_to: Word | None = None

    def counted(self) -> Reading:
        """The same, as a command that needs a permission of its own."""
        return msgspec.structs.replace(self, kind="command")


def unread(words: Sequence[Word], reason: str) -> Reading:
    """Nothing is certain; any later word may be the command, which is good for denying."""
    later = words[1:16]
    return Reading(
        problems=(reason,),
        guesses=tuple(tuple(later[at:]) for at, word in enumerate(later) if word.literal),
        guessed_scripts=tuple(word.text.replace(HOLE, "_") for word in later if " " in word.text),
    )
