"""Deleting a directory that a command filled: any depth, any modes, no link followed.

A directory inside is moved up before it is emptied, so neither its depth nor the length of its
path matters, and two descriptors are enough.
"""

from __future__ import annotations

import contextlib
import os
import sys

from bridle.types.base import Moving

TYPE_CHECKING = False  # typing itself costs more than this module
if TYPE_CHECKING:
    from collections.abc import Iterator

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Budget(Moving):
    """How many more entries may be deleted; None is no limit."""

    left: int | None = None

    def is_spent(self) -> bool:
        """Is nothing left of it?"""
        return self.left is not None and self.left <= 0

    def use(self) -> None:
        """One entry was deleted."""
        if self.left is not None:
            self.left -= 1


def empty(parent: int, name: str, budget: Budget) -> None:
    """Delete a directory and all in it, as far as the budget goes and the system lets us."""
    top = _open(parent, name)
    if top is None:
        return
    try:
        progress = True
        while progress and not budget.is_spent():
            progress = False
            for entry, is_directory in list(_entries(top, budget)):
                if budget.is_spent():
                    return
                if is_directory:
                    _flatten(top, entry, budget)
                progress |= _delete(top, entry, is_directory=is_directory)
                budget.use()
    finally:
        os.close(top)
    _delete(parent, name, is_directory=True)


def measure(top: int) -> int:
    """The bytes of the files below a directory."""
    size = 0
    for _path, _directories, names, fd in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.stat(name, dir_fd=fd, follow_symlinks=False).st_size
    return size


def _flatten(top: int, name: str, budget: Budget) -> None:
    """Delete the files of a directory and move the directories in it up to the top."""
    inner = _open(top, name)
    if inner is None:
        return
    try:
        for entry, is_directory in list(_entries(inner, budget)):
            if budget.is_spent():
                break
            if is_directory:
                _open_up(inner, entry)
                with contextlib.suppress(OSError):
                    os.rename(entry, os.urandom(8).hex(), src_dir_fd=inner, dst_dir_fd=top)
            else:
                _delete(inner, entry, is_directory=False)
            budget.use()
    finally:
        os.close(inner)


def _entries(directory: int, budget: Budget) -> Iterator[tuple[str, bool]]:
    """The names in a directory, no more of them than may be deleted."""
    with os.scandir(directory) as entries:
        for count, entry in enumerate(entries):
            if budget.left is not None and count >= budget.left:
                return
            yield entry.name, entry.is_dir(follow_symlinks=False)


def _delete(directory: int, name: str, *, is_directory: bool) -> bool:
    try:
        (os.rmdir if is_directory else os.unlink)(name, dir_fd=directory)
    except OSError:
        return False
    return True


def _open(parent: int, name: str) -> int | None:
    """A directory that we may list and change; None where there is none."""
    _open_up(parent, name)
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError:
        return None


def _open_up(parent: int, name: str) -> None:
    """Let ourselves into a directory that a command closed; a link in its place stays as it is."""
    if os.geteuid() == 0 or sys.platform != "linux":
        return
    try:
        fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        return
    try:
        if os.fstat(fd).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{fd}", 0o700)
    except OSError:  # not ours
        return
    finally:
        os.close(fd)
