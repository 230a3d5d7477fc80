"""Which path is seen how: a policy as one ordered list of mounts.

The most specific path decides; on the same path hidden wins over read-only, read-only over
writable, writable over readable. A directory that holds something protected inside a writable
place is a mount of its own, so that it cannot be renamed away to make room for another.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Literal

from bridle.sandbox.policy import protected_in_git
from bridle.sandbox.real import real_paths
from bridle.sandbox.shadows import is_placeholder
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridle.ports.sandbox import SandboxPolicy

View = Literal["readable", "writable", "read_only", "hidden"]
_STRENGTH: dict[View, int] = {"readable": 0, "writable": 1, "read_only": 2, "hidden": 3}


class Mount(Fixed, frozen=True):
    """One path and how it is seen; `is_dir` also says what an absent one would be."""

    path: str
    view: View
    is_dir: bool
    exists: bool


def plan(policy: SandboxPolicy) -> list[Mount]:
    """All mounts of a policy, parents before children.

    An absent path matters only where a command could make it although it is protected.
    """
    wanted = _wanted(policy, read_only(policy))
    found: dict[str, Mount] = {}
    for path in sorted(wanted):
        view, is_dir = wanted[path]
        exists = os.path.lexists(path) and not is_placeholder(path)
        if not exists and view != "read_only":
            continue
        outer = view_of(path, found)
        if exists:
            is_dir = os.path.isdir(path)
        elif outer != "writable":
            continue
        if view in ("read_only", "hidden") and outer == "writable":
            for parent in _between(path, found):
                found[parent] = Mount(parent, "writable", is_dir=True, exists=True)
        found[path] = Mount(path, view, is_dir, exists)
    return [found[path] for path in sorted(found)]


@functools.lru_cache(maxsize=64)
def writable_roots(policy: SandboxPolicy) -> tuple[str, ...]:
    """The real directories that may be written, without those that the policy keeps as they are."""
    kept = set(real_paths(policy.read_only))
    roots = real_paths((policy.root, *policy.writable))
    found = [path for path in roots if path not in kept]
    return (*found, *([os.path.realpath(policy.temp)] if policy.temp else []))


def read_only(policy: SandboxPolicy) -> tuple[str, ...]:
    """What is protected now: a repository made since the policy was, in its parts."""
    found: list[str] = []
    for path in policy.read_only:
        git = path.rstrip("/")
        if git.endswith("/.git") and os.path.isdir(git) and not is_placeholder(git):
            found += protected_in_git(git)
        else:
            found.append(path)
    return tuple(found)


def is_protected(policy: SandboxPolicy, real: str) -> bool:
    """Whether a real path is one that a policy keeps as it is: file tools ask before they write."""
    return lies_in(real, real_paths(read_only(policy)))


def kept_in_writable(policy: SandboxPolicy) -> tuple[str, ...]:
    """What is protected although it lies in a writable directory, by its own name."""
    return _kept(policy, read_only(policy))


@functools.lru_cache(maxsize=64)
def _kept(policy: SandboxPolicy, protected: tuple[str, ...]) -> tuple[str, ...]:
    roots = writable_roots(policy)
    named = zip(protected, real_paths(protected), strict=True)
    return tuple(path.rstrip("/") for path, real in named if lies_in(real, roots))


def lies_in(path: str, roots: Iterable[str]) -> bool:
    """Whether a real path is one of the roots or below one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def view_of(path: str, mounts: dict[str, Mount]) -> View | None:
    """How a path is seen by the most specific mount; None is what the system shows."""
    while True:
        if path in mounts:
            return mounts[path].view
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent


@functools.lru_cache(maxsize=64)
def _wanted(policy: SandboxPolicy, protected: tuple[str, ...]) -> dict[str, tuple[View, bool]]:
    """The view of each real path, and whether an absent one would be a directory."""
    groups: tuple[tuple[View, tuple[str, ...]], ...] = (
        ("readable", policy.readable),
        ("writable", (policy.root, *policy.writable)),
        ("read_only", protected),
        ("hidden", policy.hidden),
    )
    wanted: dict[str, tuple[View, bool]] = {}
    for view, paths in groups:
        for path, real in zip(paths, real_paths(paths), strict=True):
            before = wanted.get(real)
            if before is None or _STRENGTH[before[0]] < _STRENGTH[view]:
                wanted[real] = (view, path.endswith("/"))
    return wanted


def _between(path: str, mounts: dict[str, Mount]) -> Iterator[str]:
    """The directories between a path and the mount that it lies in, which exist."""
    parent = os.path.dirname(path)
    while parent not in mounts and parent != os.path.dirname(parent):
        if os.path.isdir(parent):
            yield parent
        parent = os.path.dirname(parent)
