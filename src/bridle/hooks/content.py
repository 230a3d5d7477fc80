"""The files of a project that a hook names: what is trusted is their content, not their names."""

from __future__ import annotations

import contextlib
import re
import shlex
from typing import TYPE_CHECKING

import msgspec

from bridle.hooks.handlers import find_handler
from bridle.types.chain import digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridle.hooks.define import Bound

ABSENT = "absent"
LARGEST = 16 * 1024 * 1024
_WORDS = re.compile(r"[^\s`;|&()<>=]+")
_ROOT = re.compile(r"\$(?:\{(?:CLAUDE|BRIDLE)_PROJECT_DIR\}|(?:CLAUDE|BRIDLE)_PROJECT_DIR\b)")


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
    now = content_of(bound)  # names are looked up again: a link may point elsewhere
    names = (*bound.content, *now)
    return next((name for name in names if bound.content.get(name) != now.get(name)), None)


def _named(bound: Bound, root: Path) -> Iterator[Path]:
    hook = bound.hook
    if isinstance(hook.handler, str):
        path = find_handler(hook.handler, root)
        if path is not None:
            yield path
    if hook.command is None:
        return
    words = _words(hook.command, str(root))
    bases = [root, *(root / word for word in words if (root / word).is_dir())]
    for word in words:
        for base in bases:
            path = base / word
            if path.is_file() or (word.startswith(f"{root}/") and not path.exists()):
                yield path


def _words(command: str, root: str) -> list[str]:
    """Everything in a command that could be a path: word by word, quoted or not."""
    expanded = _ROOT.sub(lambda _match: root, command)
    words = _WORDS.findall(expanded.replace('"', "").replace("'", ""))
    with contextlib.suppress(ValueError):  # not closed: bash will say so
        words += shlex.split(expanded)
    return list(dict.fromkeys(words))


def _hash(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            return f"larger than {LARGEST} bytes"
        return digest(path.read_bytes())
    except OSError:
        return ABSENT
