"""The files of a project that a hook names: what is trusted is their content, not their names.

Any word of a command may be a name, also a whole program in quotes, so `os.path` is asked: it takes
what cannot be a path, or may not be looked at, for something that is not there.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.hooks.handlers import find_handler
from bridle.types.chain import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.hooks.define import Bound

ABSENT = "absent"
LONGEST_NAME = 255
LARGEST = 16 * 1024 * 1024
SCRIPTS = frozenset(
    {".sh", ".bash", ".zsh", ".fish", ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl",
     ".php", ".lua", ".awk", ".jq", ".ps1", ".r", ".jl", ".go", ".rs", ".java", ".jar", ".swift"}
)  # fmt: skip
DATA = frozenset(
    {".log", ".txt", ".json", ".jsonl", ".csv", ".tsv", ".md", ".out", ".err", ".tmp", ".db",
     ".sqlite", ".lock", ".pid"}
)  # fmt: skip
INTERPRETERS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "source", ".", "exec", "env", "nohup", "python",
     "python3", "node", "deno", "bun", "ruby", "perl", "php", "lua", "npx", "tsx", "pwsh", "-f"}
)  # fmt: skip
"""A word behind one of these is run, whatever it is called."""

_WORDS = re.compile(r"[^\s`;|&()<>=]+")
_WRITTEN = re.compile(r">+\|?\s*([^\s`;|&()<>]+)")
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
        real = _real(path)
        if real.is_relative_to(bound.root):
            found[str(real.relative_to(bound.root))] = _hash(real)
    return found


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except OSError:  # a link on the way that is not for us to read: its own name counts
        return Path(os.path.normpath(path))


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
    words, written = _words(hook.command, str(root))
    bases = [root, *(root / word for word in words if os.path.isdir(root / word))]
    for before, word in itertools.pairwise(["", *words]):
        if word in written or word.startswith("-"):
            continue
        for base in bases:
            path = base / word
            known = os.path.isfile(path) or (base is root and not os.path.exists(path))
            if known and _is_code(word, path, after=before):
                yield path


def _is_code(word: str, path: Path, *, after: str) -> bool:
    """Whether a word of a command is something that it runs, rather than data that it writes."""
    kind = path.suffix.lower()
    if os.path.isfile(path) and (os.access(path, os.X_OK) or _begins_as_script(path)):
        return True
    if kind in DATA:
        return False
    return kind in SCRIPTS or "/" in word or after.rpartition("/")[2] in INTERPRETERS


def _begins_as_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _words(command: str, root: str) -> tuple[list[str], set[str]]:
    """Everything in a command that could be a path, quoted or not; and what it writes to."""
    expanded = _ROOT.sub(lambda _match: root, command)
    bare = expanded.replace('"', "").replace("'", "")
    words = _WORDS.findall(bare)
    with contextlib.suppress(ValueError):  # not closed: bash will say so
        words += shlex.split(expanded)
    words = [word for word in words if _may_be_path(word)]
    return words, set(_WRITTEN.findall(bare))


def _may_be_path(word: str) -> bool:
    return "\0" not in word and all(len(name.encode()) <= LONGEST_NAME for name in word.split("/"))


def _hash(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            return f"larger than {LARGEST} bytes"
        return digest(path.read_bytes())
    except OSError:
        return ABSENT
