"""Instruction files: AGENTS.md, else CLAUDE.md, from the root of the project down to here.

Files nearer to the working directory come later, so they win. `@path` imports are followed within
the project. What was loaded, and what was cut, is told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from bridle.types.base import Fixed, Moving
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

NAMES: tuple[tuple[str, ...], ...] = (("AGENTS.md",), ("CLAUDE.md", "CLAUDE.local.md"))
MAX_CHARACTERS = 32_000
MAX_DEPTH = 5
_IMPORT = lazy(r"^@(\S+)\s*$", re.MULTILINE)
_MENTION = lazy(r"```.*?(?:```|\Z)|`[^`\n]*`|(?<=[ \t(])@([^\s`()]+)", re.DOTALL)


class Loaded(Fixed, frozen=True):
    """The text for the model, the files that it came from, and what a user should know."""

    text: str = ""
    files: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


class _Reading(Moving):
    root: Path
    files: list[str] = msgspec.field(default_factory=list)
    notices: list[str] = msgspec.field(default_factory=list)

    def read(self, path: Path, depth: int = 0) -> str | None:
        """Read one file with its imports; None when it cannot be read."""
        real = path.resolve()
        name = self.name(path)
        if not real.is_relative_to(self.root):
            self.notices.append(f"{name} is outside the project and was not loaded")
            return None
        try:
            text = real.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.notices.append(f"{name} was not loaded: {error}")
            return None
        self.files.append(name)
        mentions = list(_MENTION.finditer(text))
        text = _IMPORT.sub(lambda match: self._import(match, real, depth), text)
        return "\n\n".join([text, *self._mentioned(mentions, real, depth)])

    def _mentioned(
        self, mentions: Iterable[re.Match[str]], importer: Path, depth: int
    ) -> Iterable[str]:
        """Files named within a line come after the text; one in code is only named."""
        for match in mentions:
            target = importer.parent / (match.group(1) or "").rstrip(".,;:!?")
            if depth >= MAX_DEPTH or not target.is_file() or self.name(target) in self.files:
                continue
            if (text := self.read(target, depth + 1)) is not None:
                yield f"# {self.name(target)}\n{text.strip()}"

    def _import(self, match: re.Match[str], importer: Path, depth: int) -> str:
        target = importer.parent / match.group(1)
        if depth >= MAX_DEPTH:
            self.notices.append(f"{match.group(1)} was not imported: imports are nested too deeply")
            return match.group(0)
        if self.name(target) in self.files or not target.is_file():
            return match.group(0)
        return self.read(target, depth + 1) or match.group(0)

    def name(self, path: Path) -> str:
        """The path as it is told: relative to the project."""
        try:
            return str(path.resolve().relative_to(self.root))
        except ValueError:
            return str(path)


def load_instructions(
    root: Path, directory: Path, *, names: Sequence[str] | None = None, limit: int = MAX_CHARACTERS
) -> Loaded:
    """Read the instruction files between a project's root and a directory in it.

    `names` replaces the usual file names; each is read where it exists.
    """
    root, directory = root.resolve(), directory.resolve()
    reading = _Reading(root)
    texts: list[str] = []
    for place in _places(root, directory):
        for path in _files(place, names):
            text = reading.read(path)
            if text is not None and text.strip():
                texts.append(f"# {reading.name(path)}\n{text.strip()}")
    size = sum(map(len, texts))
    if size > limit:
        reading.notices.append(
            f"the instruction files have {size} characters; {limit} were loaded, the nearest first"
        )
        texts = _nearest(texts, limit)
    return Loaded("\n\n".join(texts), tuple(reading.files), tuple(reading.notices))


def _nearest(texts: Sequence[str], limit: int) -> list[str]:
    """Cut from the root: what is nearer to the work wins, so it is the last to go."""
    kept: list[str] = []
    for text in reversed(texts):
        if limit <= 0:
            break
        kept.insert(0, text[:limit])
        limit -= len(text)
    return kept


def _places(root: Path, directory: Path) -> list[Path]:
    if not directory.is_relative_to(root):
        return [directory]
    between = [directory, *directory.parents]
    return list(reversed(between[: between.index(root) + 1]))


def _files(place: Path, names: Sequence[str] | None) -> Iterable[Path]:
    if names is not None:
        return [place / name for name in names if (place / name).is_file()]
    for group in NAMES:
        found = [place / name for name in group if (place / name).is_file()]
        if found:
            return found
    return []
