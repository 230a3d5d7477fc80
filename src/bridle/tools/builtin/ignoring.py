"""Walk a workspace without what its .gitignore files leave out.

Nested .gitignore files hold for their directory, a deeper one wins, and `.git` is always left out.
In a repository, the files above the workspace hold too. Links are not followed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.tools.builtin.gitignore import Ignore
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

IGNORE_FILE = ".gitignore"
Rules = tuple[tuple[int, Ignore], ...]
"""The files that hold, outermost first, each with where paths below it begin."""


class Found(Fixed, frozen=True):
    """One entry of the walk; `path` is relative to where it began."""

    path: str
    is_dir: bool
    depth: int


def walk(root: str, start: str, *, depth: int | None = None) -> Iterator[Found]:
    """Yield what lies below `start`, sorted by name, directories before what is in them.

    The .gitignore files from `root`, or from the top of its repository, down to `start` hold too.
    """
    cut = len(start.rstrip("/")) + 1
    for full, is_dir, level in _walk(start.rstrip("/"), rules_above(root, start), 1, depth):
        yield Found(full[cut:], is_dir, level)


def files(root: str, start: str) -> Iterator[str]:
    """The full paths of the files below a directory, in the same order."""
    for full, is_dir, _ in _walk(start.rstrip("/"), rules_above(root, start), 1, None):
        if not is_dir:
            yield full


def repository_top(root: str) -> str:
    """The directory whose .gitignore is the outermost that holds."""
    place = root
    while True:
        if os.path.lexists(os.path.join(place, ".git")):
            return place
        parent = os.path.dirname(place)
        if parent == place:
            return root
        place = parent


def rules_above(root: str, start: str) -> Rules:
    """The rules of the directories from the outermost down to the one above `start`."""
    rules: Rules = ()
    place = repository_top(root)
    relative = os.path.relpath(start, place)
    for part in [] if relative == "." else relative.split(os.sep):
        rules = _with_rules(rules, place)
        place = os.path.join(place, part)
    return rules


def _walk(
    place: str, rules: Rules, level: int, depth: int | None
) -> Iterator[tuple[str, bool, int]]:
    try:
        with os.scandir(place or "/") as scanned:
            entries = sorted(scanned, key=_name)
    except OSError:
        return
    if any(entry.name == IGNORE_FILE for entry in entries):
        rules = _with_rules(rules, place)
    for entry in entries:
        name = entry.name
        if name == ".git":
            continue
        is_dir = entry.is_dir(follow_symlinks=False)
        full = f"{place}/{name}"
        if rules and _ignored(name, full, is_dir, rules):
            continue
        yield full, is_dir, level
        if is_dir and (depth is None or level < depth):
            yield from _walk(full, rules, level + 1, depth)


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _with_rules(rules: Rules, place: str) -> Rules:
    try:
        text = Path(place, IGNORE_FILE).read_text("utf-8", "surrogateescape")
    except OSError:
        return rules
    return (*rules, (len(place.rstrip("/")) + 1, Ignore(text.split("\n"))))


def _ignored(name: str, full: str, is_dir: bool, rules: Rules) -> bool:
    """The deepest file that says anything about an entry decides."""
    for cut, ignore in reversed(rules):
        said = ignore.verdict(name, full[cut:], is_dir=is_dir)
        if said is not None:
            return said
    return False
