"""The files of a project that a hook names: what is trusted is their content, not their names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.hooks.handlers import find_handler
from bridle.types.chain import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.hooks.define import Bound

ABSENT = "absent"
LARGEST = 16 * 1024 * 1024
_WORDS = re.compile(r"[^\s'\"`;|&()<>=]+")
_ROOT = re.compile(r"\$\{?(?:CLAUDE|BRIDLE)_PROJECT_DIR\}?/?")


def with_content(bound: Bound) -> Bound:
    """The hook with the hashes of the project's files that it names now."""
    return msgspec.structs.replace(bound, content=content_of(bound))


def content_of(bound: Bound) -> dict[str, str]:
    """The files inside the project that a hook names, each with the hash of its content."""
    if bound.root is None:
        return {}
    found = {}
    for path in _named(bound, bound.root):
        real = path.resolve()
        if real.is_relative_to(bound.root):
            found[str(real.relative_to(bound.root))] = _hash(real)
    return found


def changed_content(bound: Bound) -> str | None:
    """A file whose content is no longer the one that was trusted, if there is one."""
    assert bound.root is not None or not bound.content
    for name, hashed in bound.content.items():
        if _hash(Path(str(bound.root)) / name) != hashed:
            return name
    return None


def _named(bound: Bound, root: Path) -> Iterator[Path]:
    hook = bound.hook
    if isinstance(hook.handler, str):
        path = find_handler(hook.handler, root)
        if path is not None:
            yield path
    if hook.command is None:
        return
    for word in _WORDS.findall(hook.command):
        rooted = _ROOT.match(word)
        name = word[rooted.end() :] if rooted else word
        path = root / name
        if name and (path.is_file() or (rooted is not None)):
            yield path


def _hash(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            return f"larger than {LARGEST} bytes"
        return digest(path.read_bytes())
    except OSError:
        return ABSENT
