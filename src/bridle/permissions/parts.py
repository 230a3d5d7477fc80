"""A shell command taken apart into what must be allowed: commands, files, variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from bridle.permissions import paths
from bridle.permissions.shell.effects import Effect
from bridle.permissions.shell.facts import HOLE, SimpleCommand, names
from bridle.permissions.shell.programs import (
    PATTERN_READERS,
    READERS,
    WRITERS,
    extra_effects,
    program,
    read_operands,
)
from bridle.permissions.shell.variables import danger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.permissions.shell.facts import Analysis, Assignment, Word
    from bridle.types.permissions import Policy

REMOTE = names("ssh docker podman kubectl")
"""Wrappers behind which a path is not one of this machine."""

_QUIET_GIT = names(
    "status diff log show add commit blame grep ls-files rev-parse branch tag describe shortlog "
    "rev-list cat-file ls-tree merge-base fetch push remote"
)
_TALKERS = names("echo printf test [ true false : find which type pwd env")


class Place(msgspec.Struct, frozen=True):
    """Where a path may lead: every directory that it may be relative to gives one. None: unknown.

    `head` is how a path begins that is not known to its end, `pattern` all of it with its holes.
    """

    paths: tuple[str, ...] | None
    text: str
    head: str | None = None
    pattern: str = ""


class Part(msgspec.Struct, frozen=True):
    """One thing that must be allowed before the command line may run.

    A `command` has `effects` that a prefix does not cover, and `places` that it may change.
    """

    kind: Literal["command", "write", "read", "sets", "unnamed"]
    text: str
    command: SimpleCommand | None = None
    effects: tuple[Effect, ...] = ()
    place: Place | None = None
    index: int = -1


class Shell:
    """A command line with everything that is known of it under a policy."""

    def __init__(self, analysis: Analysis, policy: Policy, cwd: str | None) -> None:
        self.analysis = analysis
        self.policy = policy
        self.cwd = cwd or ""
        self.parts = tuple(self._parts())

    def _parts(self) -> Iterator[Part]:
        for unnamed in self.analysis.unnamed:
            yield Part("unnamed", f"{unnamed.reason}: {unnamed.raw}")
        for index, command in enumerate(self.analysis.commands):
            effects = (*extra_effects(command.words), *self._reads_outside(command))
            effects += (*self._runs_elsewhere(command), *_variables(command.assignments))
            yield Part("command", _shown(command), command, effects, index=index)
            for effect in effects:
                if effect.kind == "write" and effect.path is not None:
                    place = self.place(effect.path, command.cwds, command.via)
                    if place:
                        yield Part("write", effect.path.text, command, (effect,), place, index)
        for redirect in self.analysis.redirects:
            place = self.place(redirect.target, redirect.cwds, redirect.via)
            if place:
                kind: Literal["read", "write"] = "read" if redirect.mode == "read" else "write"
                yield Part(kind, place.text, place=place)
        for entry in self.analysis.assignments:
            if danger(entry.name, exported=entry.exported) != "safe" and not _harmless(entry):
                yield Part("sets", f"{entry.name}={entry.value.text}")

    def place(
        self, word: Word, cwds: tuple[str, ...] | None, via: tuple[str, ...] = ()
    ) -> Place | None:
        """Where this word leads as a path; None for devices and for other machines."""
        text = paths.word_path(word, self.policy.home, self.policy.root) or word.guess
        if set(via) & REMOTE or word.text.startswith("/dev/fd/"):
            return None
        if text is None:
            return Place(None, word.raw or word.text, self._head(word), word.text)
        if text in paths.DEVICES:
            return None
        if cwds is None and not text.startswith(("/", "~")):
            return Place(None, text, text)
        known = tuple(self.resolve(text, cwd) for cwd in cwds or ("",))
        return Place(known, text, pattern=word.text if HOLE in word.text else "")

    def resolve(self, text: str, cwd: str) -> str:
        """The absolute path, seen from a directory of this command line."""
        start = paths.resolve(cwd, root=self.policy.root, home=self.policy.home, cwd=self.cwd)
        return paths.resolve(text, root=start, home=self.policy.home)

    def _head(self, word: Word) -> str | None:
        """What is known of the beginning of a path."""
        text = word.text
        for name in word.holes:
            known = {"HOME": self.policy.home or "/root", "PWD": self.policy.root}.get(name)
            if known is None:
                break
            text = text.replace(HOLE, known, 1)
        head = text.partition(HOLE)[0]
        return self.resolve(head, "") if "/" in head else None

    def words(self, *, bare: bool = False) -> Iterator[tuple[SimpleCommand, Word]]:
        """Every word that may be a path of this machine, with its command.

        A bare name without a slash is one where the program is known to take files, or if asked.
        """
        for command in self.analysis.commands:
            if command.role == "wrapper" or set(command.via) & REMOTE:
                continue
            takes_files = bare or program(command.words) in READERS | WRITERS
            for word in command.words[1:]:
                if takes_files or any(char in word.text for char in "/~") or "HOME" in word.holes:
                    yield command, word

    def inside(self, path: str, *, writing: bool) -> bool:
        """Is the path where this policy lets commands read or write?"""
        policy = self.policy
        places = [policy.root or "/", *policy.writable, *paths.TEMPORARY]
        places += [] if writing else policy.readable
        return any(paths.inside(path, place) for place in places)

    def _reads_outside(self, command: SimpleCommand) -> Iterator[Effect]:
        for index, word in read_operands(command.words):
            place = self.place(word, command.cwds, command.via)
            known = place.paths if place and place.paths else ()
            heads = [place.head] if place and place.head else []
            heads += ["/"] if word.holes[:1] == ("~",) else []
            for path in (*known, *heads):
                if path.startswith("/") and not self.inside(path, writing=False):
                    yield Effect("read", f"{word.raw or word.text} is outside", index)
                    break

    def _runs_elsewhere(self, command: SimpleCommand) -> Iterator[Effect]:
        """Git or npm run what their directory tells them; a rule means that of the workspace."""
        name = program(command.words)
        if command.role != "command" or name in READERS | PATTERN_READERS | WRITERS | _TALKERS:
            return
        policy = self.policy
        for cwd in command.cwds or ():
            path = self.resolve(cwd, "")
            if not any(
                paths.inside(path, place) for place in (policy.root or "/", *policy.writable)
            ):
                yield Effect(
                    "run", f"{name} runs in {path}, outside of the workspace", spelled=path
                )

    def changes(self, command: SimpleCommand) -> bool:
        """May the command change files that it names, as far as its program tells?"""
        name = program(command.words)
        if command.role != "command" or name in WRITERS:
            return False
        if name == "git":
            return not any(word.text in _QUIET_GIT for word in command.words[1:2])
        return name not in READERS | PATTERN_READERS | _TALKERS


def _variables(assignments: tuple[Assignment, ...]) -> Iterator[Effect]:
    for entry in assignments:
        level = danger(entry.name, exported=True)
        if level == "safe" or _harmless(entry):
            continue
        text = f"{entry.name}={entry.value.text}"
        verb = "decides what runs" if level == "runs" else "is not a known variable"
        kind: Literal["run", "read"] = "run" if level == "runs" else "read"
        yield Effect(kind, f"{text} {verb}", spelled=text)


def _harmless(entry: Assignment) -> bool:
    """A pager that only prints is the usual way to have none."""
    quiet = entry.name.endswith("PAGER") and entry.value.text in ("", "cat")
    return (quiet and entry.value.literal) or entry.name.startswith(
        ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS")
    )


def _shown(command: SimpleCommand) -> str:
    return " ".join(word.raw or word.text for word in command.words)
