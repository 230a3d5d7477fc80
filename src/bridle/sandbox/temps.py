"""Private temporary directories, which go away also when their process was killed.

All those of a user lie in one directory that nobody else can enter. In it each process has one of
its own and holds it by a lock for as long as it lives. The system lets go of that lock however the
process ends, so what nobody holds is stale, whatever its age and whoever has its number now.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import stat
import weakref
from typing import TYPE_CHECKING

from bridle.errors import ConfigError
from bridle.sandbox.emptying import Budget, empty, measure
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKED_AT = 8
REMOVED = 500
"""What the first directory of a process clears away at most, so that its start stays short."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Stale(Fixed, frozen=True):
    """What processes that are gone left behind; `items` are the directories of such processes."""

    place: str
    items: int
    bytes: int


class _Held:
    """The directory of this process, and the descriptor whose lock says that it lives."""

    def __init__(self) -> None:
        self._owner = 0
        self._path = ""
        self._lock = -1
        self._count = itertools.count()

    def path(self) -> str:
        """The directory; made when there is none, after a fork too, with some clearing away."""
        if self._owner != os.getpid() or not os.path.isdir(self._path):
            base = _base()
            self._path, self._lock = _hold(base)
            self._owner = os.getpid()
            weakref.finalize(self, _leave, self._path, self._owner)
            sweep(base, look=LOOKED_AT, remove=REMOVED)
        return self._path

    def has(self, path: str) -> bool:
        """Is this the directory of this process?"""
        return self._owner == os.getpid() and self._path == path

    def fresh(self) -> str:
        """A new directory in it."""
        path = f"{self.path()}/{next(self._count)}"
        os.mkdir(path, 0o700)
        return path


_HELD = _Held()


def make() -> str:
    """A new private directory, mode 0700; `remove` it when it is no longer needed."""
    return _HELD.fresh()


def remove(path: str) -> None:
    """Delete a directory that `make` made, with whatever a command left in it."""
    parent, name = os.path.split(path)
    if not _HELD.has(parent):
        return  # in a fork, which inherits what its parent is to clear away
    try:
        directory = os.open(parent, _DIRECTORY)
    except FileNotFoundError:
        return
    try:
        empty(directory, name, Budget())
    finally:
        os.close(directory)


@contextlib.contextmanager
def directory() -> Iterator[str]:
    """A private directory for as long as it is needed."""
    path = make()
    try:
        yield path
    finally:
        remove(path)


def sweep(
    base: str | None = None,
    *,
    look: int | None = None,
    remove: int | None = None,
    dry_run: bool = False,
) -> Stale:
    """Delete what processes left that are gone; or only tell how much it is.

    At most `look` directories are looked at and `remove` files deleted; the rest is for next time.
    """
    base = base or _base()
    budget = Budget(remove)
    items = size = 0
    directory = os.open(base, _DIRECTORY)
    try:
        for name in _some(os.listdir(directory), look):
            try:
                entry = os.open(name, _DIRECTORY, dir_fd=directory)
            except OSError:  # gone meanwhile, or nothing of ours
                continue
            try:
                fcntl.flock(entry, fcntl.LOCK_EX | fcntl.LOCK_NB)
                size += measure(entry) if remove is None else 0
                items += 1
                if not dry_run:
                    empty(directory, name, budget)
            except OSError:  # its process lives
                continue
            finally:
                os.close(entry)
            if budget.is_spent():
                break
    finally:
        os.close(directory)
    return Stale(base, items, size)


def _some(names: list[str], count: int | None) -> list[str]:
    """Any `count` of the names: not always the same, which may all be in use."""
    if count is None or len(names) <= count:
        return names
    start = int.from_bytes(os.urandom(4), "big") % len(names)
    return (names[start:] + names[:start])[:count]


def _hold(base: str) -> tuple[str, int]:
    """Make the directory of this process and lock it; one that was swept meanwhile is no good."""
    for _ in range(100):
        path = f"{base}/{os.urandom(4).hex()}"
        try:
            os.mkdir(path, 0o700)
            lock = os.open(path, _DIRECTORY)
        except (FileExistsError, FileNotFoundError):
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        except OSError:  # no locks here: then nobody can take it for stale either
            return path, lock
        with contextlib.suppress(FileNotFoundError):
            if os.lstat(path).st_ino == os.fstat(lock).st_ino:
                return path, lock
        os.close(lock)
    raise OSError(f"cannot make a private directory in {base}")


def _leave(path: str, owner: int) -> None:
    """Remove the directory of this process when it ends; what still lies there is swept later."""
    if os.getpid() == owner:
        with contextlib.suppress(OSError):
            os.rmdir(path)


def _base() -> str:
    """The directory of this user; a fresh one where somebody else holds its name."""
    place = _temporary()
    base = f"{place}/bridle-{os.geteuid()}"
    try:
        os.mkdir(base, 0o700)
    except FileExistsError:
        status = os.lstat(base)
        private = stat.S_ISDIR(status.st_mode) and not stat.S_IMODE(status.st_mode) & 0o077
        if not private or status.st_uid != os.geteuid():
            base = f"{base}-{os.urandom(8).hex()}"
            os.mkdir(base, 0o700)
    return base


def _temporary() -> str:
    """Where temporary files go; as `tempfile` has it, without what its import costs."""
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    places = [place for place in (*named, "/tmp", "/var/tmp") if place]
    for place in places:
        if os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
            return os.path.realpath(place)
    raise ConfigError(
        f"No temporary directory can be written, of {', '.join(places)}; set TMPDIR to one."
    )
