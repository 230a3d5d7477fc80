"""File access for tools, within the workspace and what was added to it.

The same policy as for commands, enforced by descriptors: see `walk`. Writing never goes through an
existing file: a new one is made beside it and renamed over it, so a hard link to something outside
is cut, not followed, and a reader sees the old content or the new.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from typing import TYPE_CHECKING, Literal

from bridle.errors import ToolError
from bridle.sandbox.real import real_paths
from bridle.sandbox.walk import MAX_LINKS, Missing, Place, Root, reach, shown
from bridle.types.base import Fact, Fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.ports.sandbox import SandboxPolicy

EntryKind = Literal["file", "directory", "link", "other"]


class FileStatus(Fact, frozen=True, kw_only=True):
    """What stands at a path; two are equal while nothing was written there."""

    path: str
    kind: EntryKind
    size: int
    mode: int
    modified_ns: int
    inode: int
    links: int


class Entry(Fact, frozen=True):
    """One name in a directory."""

    name: str
    kind: EntryKind


class FileAccess(Fixed, frozen=True):
    """Reads and writes below the roots; a relative path starts at the first.

    `hidden` are real paths that are refused although they lie below a root. All methods block, and
    raise `ToolError` with a kind: `outside`, `hidden`, `read_only`, `not_found`, `not_a_file`,
    `stale`, `race`, `io`.
    """

    roots: tuple[Root, ...]
    hidden: tuple[str, ...] = ()

    def read(self, path: str, *, limit: int | None = None) -> tuple[bytes, FileStatus]:
        """The content of a regular file (at most `limit` bytes) and what was read."""
        with self._reach(path) as place:
            status = place.status()
            if status is None:
                raise ToolError(f"{shown(path)} does not exist", kind="not_found")
            _require_file(path, status)
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            fd = os.open(place.name, flags, dir_fd=place.directory)
            with open(fd, "rb") as file:
                status = os.fstat(fd)
                _require_file(path, status)
                data = file.read() if limit is None else file.read(limit)
                return data, _status(place, status)

    def write(
        self,
        path: str,
        data: bytes,
        *,
        expected: FileStatus | None = None,
        mode: int | None = None,
        leads_to: str | None = None,
    ) -> FileStatus:
        """Replace or make a file, atomically, with its directories; the mode is kept.

        With `expected`, a file that changed since then is left alone (`stale`). With `leads_to`,
        a path that leads elsewhere than to this real path is not followed (`race`).
        """
        if leads_to is not None and self.resolve(path) != leads_to:
            raise elsewhere(path)
        with self._reach(path, make_parents=True) as place:
            if leads_to is not None and place.real != leads_to:
                raise elsewhere(path)
            if not self._writable(place.real):
                raise ToolError(f"{shown(path)} is read-only", kind="read_only")
            before = place.status()
            if before is not None:
                _require_file(path, before)
            if expected is not None and (before is None or _status(place, before) != expected):
                raise ToolError(f"{shown(path)} changed since it was read", kind="stale")
            if not place.name:
                raise ToolError(f"{shown(path)} is a directory", kind="not_a_file")
            return _status(place, replace(place, data, before=before, mode=mode))

    def delete(self, path: str) -> None:
        """Remove a file, a link (not what it points to) or an empty directory."""
        with self._reach(path, follow_last=False) as place:
            status = place.status()
            if status is None:
                raise ToolError(f"{shown(path)} does not exist", kind="not_found")
            if not place.name or not self._writable(place.real):
                raise ToolError(f"{shown(path)} is read-only", kind="read_only")
            remove = os.rmdir if stat.S_ISDIR(status.st_mode) else os.unlink
            remove(place.name, dir_fd=place.directory)

    def status(self, path: str) -> FileStatus | None:
        """What a path leads to; None when it does not exist."""
        try:
            with self._reach(path) as place:
                status = place.status()
                return None if status is None else _status(place, status)
        except ToolError as error:
            if error.kind == "not_found":
                return None
            raise

    def list(self, path: str = ".") -> list[Entry]:
        """The names in a directory, sorted."""
        with self._reach(path) as place:
            name = place.name or "."
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(name, flags, dir_fd=place.directory)
            try:
                with os.scandir(fd) as entries:
                    return sorted((_entry(entry) for entry in entries), key=lambda e: e.name)
            finally:
                os.close(fd)

    def resolve(self, path: str) -> str:
        """The real path that a path leads to now, also when nothing stands there yet.

        For deciding and showing; opening goes by the path again, not by this text.
        """
        way = path or "."
        for _ in range(MAX_LINKS):
            try:
                with self._reach(way) as place:
                    return place.real
            except ToolError as error:
                missing = error.__cause__
                if not isinstance(missing, Missing):
                    raise
            if missing.again is None:
                if self._hides(missing.real):
                    raise ToolError(f"{shown(path)} is not for tools to see", kind="hidden")
                return missing.real
            way = missing.again
        raise ToolError(f"{shown(path)}: too many links", kind="links")

    @contextlib.contextmanager
    def _reach(
        self, path: str, *, make_parents: bool = False, follow_last: bool = True
    ) -> Iterator[Place]:
        """Walk there, refuse what is hidden, and put errors of the system in words."""
        try:
            may_make = self._writable if make_parents else None
            with reach(self.roots, path, may_make=may_make, follow_last=follow_last) as place:
                if self._hides(place.real):
                    raise ToolError(f"{shown(path)} is not for tools to see", kind="hidden")
                yield place
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ToolError(f"{shown(path)} does not exist", kind="not_found") from error
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ToolError(f"{shown(path)}: {why}", kind="io") from error

    def _hides(self, real: str) -> bool:
        return any(_within(real, hidden) for hidden in self.hidden)

    def _writable(self, real: str) -> bool:
        """Whether the most specific root that a real path lies in is writable."""
        inside = [root for root in self.roots if _within(real, root.real)]
        nearest = max(inside, key=lambda root: len(root.real), default=None)
        return nearest is not None and nearest.writable and not self._hides(real)


def elsewhere(path: str) -> ToolError:
    """A link or a directory was changed since it was decided where this path leads."""
    return ToolError(f"{shown(path)} leads elsewhere than when it was decided", kind="race")


def file_access(policy: SandboxPolicy, *, temp_at: str | None = "/tmp") -> FileAccess:
    """File access under the same policy as commands.

    `temp_at` is where commands see the private temp: /tmp in bubblewrap, its own path elsewhere.
    """
    roots = [Root(policy.root, os.path.realpath(policy.root))]
    if policy.temp:
        roots.append(Root(temp_at or policy.temp, os.path.realpath(policy.temp)))
    roots += [Root(path, os.path.realpath(path)) for path in policy.writable]
    roots += [Root(path, os.path.realpath(path), writable=False) for path in policy.readable]
    if os.path.realpath(policy.root) in real_paths(policy.read_only):
        roots[0] = Root(policy.root, os.path.realpath(policy.root), writable=False)
    return FileAccess(tuple(roots), tuple(real_paths(policy.hidden)))


def replace(
    place: Place, data: bytes, *, before: os.stat_result | None, mode: int | None = None
) -> os.stat_result:
    """Put a new file at a place, atomically, with the mode and the owner of the one before."""
    temporary = temporary_name()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600 if before else 0o666, dir_fd=place.directory)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            _keep_owner_and_mode(fd, before, mode)
            move(place, temporary)
            return os.fstat(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.directory)
        raise


def temporary_name() -> str:
    """A name that nobody can have guessed."""
    return f".bridle-{os.urandom(12).hex()}.tmp"


def move(place: Place, temporary: str) -> None:
    """Rename a fresh entry of the same directory over a place."""
    os.rename(temporary, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)


def _within(path: str, base: str) -> bool:
    if sys.platform == "darwin":  # names that differ in case only are the same file
        path, base = path.casefold(), base.casefold()
    return path == base or path.startswith(base.rstrip("/") + "/")


def _require_file(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{shown(path)} is a directory", kind="not_a_file")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{shown(path)} is not a regular file", kind="not_a_file")


def _keep_owner_and_mode(fd: int, before: os.stat_result | None, mode: int | None) -> None:
    if before is not None:
        fresh = os.fstat(fd)
        if (before.st_uid, before.st_gid) != (fresh.st_uid, fresh.st_gid):
            with contextlib.suppress(OSError):
                os.fchown(fd, before.st_uid, before.st_gid)
    if mode is None and before is not None:
        mode = stat.S_IMODE(before.st_mode) & ~(stat.S_ISUID | stat.S_ISGID)
    if mode is not None:
        os.fchmod(fd, mode & 0o777)


def _status(place: Place, status: os.stat_result) -> FileStatus:
    return FileStatus(
        path=place.seen,
        kind=_kind(status.st_mode),
        size=status.st_size,
        mode=stat.S_IMODE(status.st_mode),
        modified_ns=status.st_mtime_ns,
        inode=status.st_ino,
        links=status.st_nlink,
    )


def _kind(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def _entry(entry: os.DirEntry[str]) -> Entry:
    if entry.is_symlink():
        return Entry(entry.name, "link")
    if entry.is_dir(follow_symlinks=False):
        return Entry(entry.name, "directory")
    return Entry(entry.name, "file" if entry.is_file(follow_symlinks=False) else "other")
