"""Protected paths around one command: placeholders for absent ones, and putting back.

Runs in the warden, so that it is undone even when we are killed. A placeholder is an empty
directory with a time that nobody uses: git and `find -type f` do not see it, and a mount on it can
neither be replaced nor renamed. Who stands on it holds a shared lock, so the last one to leave
removes it, across processes. What is put back never destroys: the command's version stays beside
it under the name `….refused`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AT_FDCWD, RENAME_NOREPLACE = -100, 1
MARK = 1_111_111_111_111_111_111
"""The modification time of a placeholder, in nanoseconds."""

Content = bytes | str | dict[str, tuple[int, bytes]] | None
"""A file, the target of a link, the files of a directory, or nothing."""

MAX_BYTES = 8 * 1024 * 1024


def stand(shadows: Sequence[str], guarded: Sequence[str]) -> Callable[[], list[str]]:
    """Put placeholders up and remember what is guarded; the result undoes it and says what."""
    held: list[int] = []
    try:
        held.extend(fd for path in shadows if (fd := _raise(path)) is not None)
        saved = {path: _content(path) for path in guarded}
    except BaseException:
        _undo(shadows, held, {})
        raise
    return partial(_undo, shadows, held, saved)


def is_placeholder(path: str) -> bool:
    """Whether what stands there is ours and empty."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    ours = status.st_mtime_ns == MARK and stat.S_ISDIR(status.st_mode)
    return ours and not os.listdir(path)


def _raise(path: str) -> int | None:
    for _ in range(100):
        if not os.path.lexists(path):
            _make(path)
        if not is_placeholder(path):
            return None  # somebody made the real thing meanwhile
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(fd, fcntl.LOCK_SH)
        with contextlib.suppress(FileNotFoundError):
            if os.lstat(path).st_ino == os.fstat(fd).st_ino:
                return fd
        os.close(fd)
    raise OSError(f"cannot protect {path}: it comes and goes")


def _make(path: str) -> None:
    """Make a placeholder that is marked from its first moment, and never over anything."""
    fresh = f"{os.path.dirname(path)}/.bridle-{os.urandom(6).hex()}.tmp"
    os.mkdir(fresh, 0o755)
    os.utime(fresh, ns=(MARK, MARK))
    from bridle.sandbox import tree

    renamed = -1
    with contextlib.suppress(AttributeError):
        renamed = tree.libc.renameat2(
            AT_FDCWD, os.fsencode(fresh), AT_FDCWD, os.fsencode(path), RENAME_NOREPLACE
        )
    if renamed != 0:
        os.rmdir(fresh)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o755)
            os.utime(path, ns=(MARK, MARK))


def _undo(paths: Sequence[str], held: list[int], saved: dict[str, Content]) -> list[str]:
    for fd in held:
        os.close(fd)
    for path in paths:
        with contextlib.suppress(OSError):
            _lower(path)
    return [note for path, before in saved.items() if (note := _put_back(path, before))]


def _lower(path: str) -> None:
    if not is_placeholder(path):
        return
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_placeholder(path) and os.lstat(path).st_ino == os.fstat(fd).st_ino:
            os.rmdir(path)
    finally:
        os.close(fd)


def _content(path: str) -> Content:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if stat.S_ISREG(mode):
        return _read(path)
    if not stat.S_ISDIR(mode):
        return b""
    found: dict[str, tuple[int, bytes]] = {}
    for base, _directories, names in os.walk(path):
        for name in names:
            inner = os.path.join(base, name)
            status = os.lstat(inner)
            data = _read(inner) if stat.S_ISREG(status.st_mode) else b""
            found[os.path.relpath(inner, path)] = (stat.S_IMODE(status.st_mode), data)
    return found


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        return file.read(MAX_BYTES)


def _put_back(path: str, before: Content) -> str | None:
    if _content(path) == before:
        return None
    kept = ""
    if os.path.lexists(path):
        kept = f"{path}.refused"
        for number in range(1, 1000):
            if not os.path.lexists(kept):
                break
            kept = f"{path}.refused.{number}"
        os.rename(path, kept)
    _write(path, before)
    where = f"; the command's version is {kept}" if kept else ""
    return f"{path} is protected and was put back{where}."


def _write(path: str, content: Content) -> None:
    if content is None:
        return
    if isinstance(content, str):
        os.symlink(content, path)
    elif isinstance(content, bytes):
        _write_file(path, 0o644, content)
    else:
        for name, (mode, data) in content.items():
            inner = os.path.join(path, name)
            os.makedirs(os.path.dirname(inner), exist_ok=True)
            _write_file(inner, mode, data)


def _write_file(path: str, mode: int, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with open(fd, "wb") as file:
        file.write(data)
