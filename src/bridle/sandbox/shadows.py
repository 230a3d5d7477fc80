"""Protected paths around one command: placeholders for absent ones, and putting back.

Runs in the warden, so that it is undone even when we are killed. A placeholder is an empty
directory with a mode that nobody uses: git and `find -type f` do not see it, and a mount on it can
neither be replaced nor renamed. Who stands on it holds a shared lock, so the last one to leave
removes it, across processes. What is put back never destroys: the command's version stays beside
it under the name `….refused`.
"""

from __future__ import annotations

import fcntl
import os
import stat

TYPE_CHECKING = False  # typing itself costs more than this module
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MARK = 0o1500
"""The mode of a placeholder, which it has from its first moment."""

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

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
    return lambda: _undo(shadows, held, saved)


def is_placeholder(path: str) -> bool:
    """Whether what stands there is ours; one that is not empty cannot be removed anyway."""
    try:
        return _is_marked(os.lstat(path))
    except OSError:
        return False


def _is_marked(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == MARK


def _raise(path: str) -> int | None:
    """Put a placeholder up and hold it; None when somebody made the real thing meanwhile."""
    for _ in range(100):
        try:
            if not _inode(path):
                os.mkdir(path, MARK)
            fd = os.open(path, _OPEN)
        except (FileExistsError, FileNotFoundError):
            continue  # somebody was faster
        except OSError:
            return None
        if not _is_marked(os.fstat(fd)):
            os.close(fd)
            return None
        fcntl.flock(fd, fcntl.LOCK_SH)
        if _inode(path) == os.fstat(fd).st_ino:
            return fd
        os.close(fd)
    raise OSError(f"cannot protect {path}: it comes and goes")


def _undo(paths: Sequence[str], held: list[int], saved: dict[str, Content]) -> list[str]:
    for fd in held:
        os.close(fd)
    for path in paths:
        try:
            _lower(path)
        except OSError:  # held by another command, or not empty, or gone
            continue
    return [note for path, before in saved.items() if (note := _put_back(path, before))]


def _inode(path: str) -> int:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return 0


def _lower(path: str) -> None:
    """Remove a placeholder that nobody holds any more."""
    fd = os.open(path, _OPEN)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.fstat(fd)
        if _is_marked(held) and _inode(path) == held.st_ino:
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
