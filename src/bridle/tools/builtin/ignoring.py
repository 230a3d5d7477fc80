"""Walk a workspace without what its .gitignore files leave out.

Nested .gitignore files hold for their directory, a deeper one wins, and `.git` is always left out.
Links are not followed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".gitignore"


class Found(Fixed, frozen=True):
    """One entry of the walk; `path` is relative to where it began."""

    path: str
    is_dir: bool
    depth: int


class _Rules(Fixed, frozen=True):
    base: str
    spec: GitIgnoreSpec


def walk(root: str, start: str, *, depth: int | None = None) -> Iterator[Found]:
    """Yield what lies below `start`, sorted by name, directories before what is in them.

    The .gitignore files from `root` down to `start` hold too.
    """
    rules: list[_Rules] = []
    place = root
    for part in _parts(root, start):
        rules = _with_rules(rules, place)
        place = os.path.join(place, part)
    yield from _walk(place, "", rules, 1, depth)


def _walk(
    place: str, prefix: str, rules: list[_Rules], level: int, depth: int | None
) -> Iterator[Found]:
    rules = _with_rules(rules, place)
    try:
        with os.scandir(place) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name == ".git":
            continue
        is_dir = entry.is_dir(follow_symlinks=False)
        full = os.path.join(place, entry.name)
        if _ignored(full, is_dir, rules):
            continue
        path = prefix + entry.name
        yield Found(path, is_dir, level)
        if is_dir and (depth is None or level < depth):
            yield from _walk(full, path + "/", rules, level + 1, depth)


def _with_rules(rules: list[_Rules], place: str) -> list[_Rules]:
    try:
        lines = Path(place, IGNORE_FILE).read_text("utf-8", "replace").splitlines()
    except OSError:
        return rules
    from pathspec import GitIgnoreSpec

    return [*rules, _Rules(place, GitIgnoreSpec.from_lines(lines))]


def _ignored(full: str, is_dir: bool, rules: list[_Rules]) -> bool:
    """The deepest file that says anything about a path decides."""
    for rule in reversed(rules):
        relative = os.path.relpath(full, rule.base) + ("/" if is_dir else "")
        said = rule.spec.check_file(relative).include
        if said is not None:
            return said
    return False


def _parts(root: str, start: str) -> list[str]:
    relative = os.path.relpath(start, root)
    return [] if relative == "." else relative.split(os.sep)
