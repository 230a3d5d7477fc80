"""Walking a path by directory descriptors, so that no link and no race leads outside.

The kernel never follows a link for us: each component is opened with O_NOFOLLOW relative to the
directory before it, links are read and walked as text, and `..` goes back to a directory that was
already open. What is reached is therefore always below one of the roots, whatever is renamed or
swapped meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING

import msgspec

from bridle.errors import ToolError
from bridle.types.base import Fixed, Moving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_LINKS = 40
_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class Root(Fixed, frozen=True):
    """A directory that file tools may see: `at` is its name for the reader, `real` where it is."""

    at: str
    real: str
    writable: bool = True


class Missing(FileNotFoundError):
    """There is no such directory on the way; `real` is where the path would lead if there were.

    Where the rest of the way goes up again, `again` is the path to look at instead.
    """

    def __init__(self, real: str, again: str | None) -> None:
        super().__init__(errno.ENOENT, os.strerror(errno.ENOENT))
        self.real = real
        self.again = again


class Place(Moving):
    """An open directory and a name in it: where a path leads. The name is never a link.

    An empty name is the directory itself.
    """

    root: Root
    parts: list[str]
    name: str
    directory: int

    @property
    def seen(self) -> str:
        """The path as the reader knows it."""
        return "/".join([self.root.at.rstrip("/"), *self.parts, self.name]).rstrip("/") or "/"

    @property
    def real(self) -> str:
        """The path on this machine."""
        return "/".join([self.root.real.rstrip("/"), *self.parts, self.name]).rstrip("/") or "/"

    def status(self) -> os.stat_result | None:
        """What stands there; None when nothing does."""
        try:
            if not self.name:
                return os.fstat(self.directory)
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None


class _Walk(Moving):
    """The state of one walk: open directories from a root down, and what is still to go."""

    roots: Sequence[Root]
    path: str
    may_make: Callable[[str], bool] | None
    follow_last: bool
    root: Root
    todo: list[str]
    parts: list[str] = msgspec.field(default_factory=list)
    fds: list[int] = msgspec.field(default_factory=list)
    links: int = 0

    def go(self) -> Place:
        self.restart(self.root, self.todo)
        while self.todo:
            name = self.todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                self.up()
            elif any(part not in ("", ".") for part in self.todo):
                self.down(name)
            elif not (self.follow_last and self.follow(name)):
                self.parts.append(name)
                return Place(self.root, self.parts[:-1], name, self.fds[-1])
        return Place(self.root, self.parts, "", self.fds[-1])

    def restart(self, root: Root, todo: list[str]) -> None:
        self.close()
        self.root, self.todo, self.parts = root, todo, []
        self.fds = [os.open(root.real, _DIRECTORY & ~os.O_NOFOLLOW)]

    def up(self) -> None:
        if not self.parts:
            raise outside(self.path)
        self.parts.pop()
        os.close(self.fds.pop())

    def follow(self, name: str) -> bool:
        """Whether the name is a link; its target then comes before what is still to go."""
        try:
            target = os.readlink(name, dir_fd=self.fds[-1])
        except OSError:
            return False
        self.links += 1
        if self.links > MAX_LINKS:
            raise ToolError(f"{shown(self.path)}: too many links", kind="links")
        if target.startswith("/"):
            root, inner = locate(self.roots, target, self.path)
            self.restart(root, [*self.todo, *inner])
        else:
            self.todo = [*self.todo, *reversed(target.split("/"))]
        return True

    def down(self, name: str) -> None:
        """Enter a directory that is passed through, or take the way of the link that it is."""
        for _ in range(MAX_LINKS):
            try:
                fd = os.open(name, _DIRECTORY, dir_fd=self.fds[-1])
            except FileNotFoundError as error:
                real = "/".join([self.root.real.rstrip("/"), *self.parts, name])
                if self.may_make is None or not self.may_make(real):
                    raise self.missing(name) from error
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o777, dir_fd=self.fds[-1])
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR) and self.follow(name):
                    return
                if error.errno == errno.ENOTDIR:
                    raise self.missing(name) from error
                raise
            else:
                self.fds.append(fd)
                self.parts.append(name)
                return
        raise ToolError(f"{shown(self.path)}: it changes while it is opened", kind="race")

    def missing(self, name: str) -> Missing:
        """The error that says where the rest of the way, links included, would have led."""
        absent = [name]
        while self.todo and absent:
            part = self.todo.pop()
            if part == "..":
                absent.pop()
            elif part not in ("", "."):
                absent.append(part)
        whole = "/".join([self.root.real.rstrip("/"), *self.parts, *absent])
        back = "/".join([self.root.at.rstrip("/"), *self.parts, *reversed(self.todo)])
        return Missing(whole, None if absent else back or "/")

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds = []


@contextlib.contextmanager
def reach(
    roots: Sequence[Root],
    path: str,
    *,
    may_make: Callable[[str], bool] | None = None,
    follow_last: bool = True,
) -> Iterator[Place]:
    """Walk to a path; raises `ToolError` when it leads outside the roots, `OSError` otherwise.

    Missing directories on the way are made where `may_make` says so of their real path.
    """
    if "\0" in path:
        raise ToolError(f"{shown(path)}: a path cannot hold a NUL", kind="outside")
    root, todo = locate(roots, path, path)
    walk = _Walk(roots, path, may_make, follow_last, root, todo)
    try:
        yield walk.go()
    finally:
        walk.close()


def locate(roots: Sequence[Root], path: str, asked: str) -> tuple[Root, list[str]]:
    """The root that an absolute path lies in, and the parts below it, last first.

    A relative path starts at the first root.
    """
    parts = path.split("/")
    if not path.startswith("/"):
        return roots[0], parts[::-1]
    best: tuple[Root, int] | None = None
    for root in roots:
        for base in {root.at, root.real}:
            names = [name for name in base.split("/") if name]
            if _leading(parts, names) and (best is None or len(names) > best[1]):
                best = (root, len(names))
    if best is None:
        raise outside(asked)
    rest = [name for name in parts if name not in ("", ".")][best[1] :]
    return best[0], rest[::-1]


def _leading(parts: list[str], names: list[str]) -> bool:
    return [name for name in parts if name not in ("", ".")][: len(names)] == names


def outside(path: str) -> ToolError:
    """A path that is not for file tools."""
    return ToolError(f"{shown(path)} is outside the workspace", kind="outside")


def shown(path: str) -> str:
    """A path as it may be shown: control and direction characters escaped."""
    return "".join(
        char if char.isprintable() or char == " " else char.encode("unicode_escape").decode()
        for char in path
    )
