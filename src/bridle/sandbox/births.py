"""A repository that a command makes where there was none: kept, but not what it would run.

While the command runs, a private directory stands in for the absent `.git`, so nobody outside sees
what is written there. When the command and all that it started are gone, what makes a repository is
copied to the real name: objects, references, the index, and a configuration of plain settings only.
Hooks, filters, includes and everything else that makes git run something are left behind.

Runs in the warden, so it imports only what starts fast. Everything is reached by descriptors and
without following links.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # typing itself costs more than this module
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FILES = ("packed-refs", "index", "description", "COMMIT_EDITMSG", "ORIG_HEAD", "logs/HEAD")
DIRECTORIES = ("objects", "refs", "logs/refs")
LEFT_OUT = ("alternates", "http-alternates")
"""In `objects/info`: they name other places to read objects from."""

PLAIN = {
    "core": (
        "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase",
        "precomposeunicode", "symlinks",
    ),
    "user": ("name", "email"),
    "extensions": ("objectformat",),
}  # fmt: skip
DEFAULT = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
MAX_BYTES = 2 * 1024 * 1024 * 1024
MAX_CONFIG = 64 * 1024
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(Exception):
    """What was made is not kept, and why."""


def attend(births: Sequence[tuple[str, str]]) -> Callable[[], list[str]]:
    """Make the private directories; the result keeps what was made in them and says what.

    A pair is a path where there is no repository and the directory that stands in for it. An empty
    directory name means that the command writes to the real name, because nothing can stand in.
    """
    absent = [path for path, nursery in births if not nursery and not os.path.lexists(path)]
    for _path, nursery in births:
        if nursery:
            os.mkdir(nursery, 0o700)
    return lambda: [
        note
        for path, nursery in births
        if nursery or path in absent
        if (note := _keep(path, nursery or _set_aside(path), private=bool(nursery)))
    ]


def _set_aside(path: str) -> str:
    """Move what a command made under the real name away from it."""
    aside = f"{path}.made-{os.urandom(6).hex()}"
    try:
        os.rename(path, aside)
    except OSError:
        return ""
    return aside


def _keep(path: str, nursery: str, *, private: bool) -> str:
    """Copy a repository to its place; empty when there is nothing to say.

    What was made under the real name may be the user's: it stays beside it, unless all was kept.
    """
    if not nursery:
        return ""
    left = [""]
    where = "" if private else f" The whole is {nursery}."
    try:
        source = os.open(nursery, _DIRECTORY)
    except OSError:
        return f"{path} is protected, and what was made there is no directory."
    try:
        if not os.listdir(source):
            left = []
            return ""
        left = _copy(source, path)
    except Refused as why:
        return f"{path} is protected and was not kept: {why}.{where}"
    except OSError as error:
        return f"{path} is protected and could not be kept: {error}.{where}"
    finally:
        os.close(source)
        if private or not left:
            _remove(nursery)
    return f"{path} was kept without {', '.join(left)}.{where}" if left else ""


def _copy(source: int, path: str) -> list[str]:
    """Copy what is allowed, the mark of a repository last; returns what was left behind."""
    head = _text(source, "HEAD", 4096).strip()
    if not (head.startswith("ref: refs/") or _is_hash(head)):
        raise Refused("it is not a repository")
    if _size(source) > MAX_BYTES:
        raise Refused(f"it has more than {MAX_BYTES:,} bytes")
    config, dropped = plain_config(_text(source, "config", MAX_CONFIG))
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        raise Refused("another command holds the name; make it when that has ended") from None
    target = os.open(path, _DIRECTORY)
    try:
        for name in ("objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"):
            os.mkdir(name, 0o755, dir_fd=target)
        for name in (*DIRECTORIES, *FILES):
            _transfer(source, target, name)
        _put(target, "config", config.encode())
        _put(target, "HEAD", head.encode() + b"\n")
    finally:
        os.close(target)
    hooks = [name for name in _names(source, "hooks") if not name.endswith(".sample")]
    return [*(f"hooks/{name}" for name in hooks), *dropped]


def plain_config(text: str) -> tuple[str, list[str]]:
    """The settings that make git run nothing, written anew, and the names of the others."""
    found: dict[str, list[str]] = {}
    dropped: list[str] = []
    section = ""
    for line in text.split("\n"):
        words = line.strip()
        if not words or words[0] in "#;":
            continue
        if words.startswith("["):
            section = words[1:].partition("]")[0].strip().lower()
            continue
        key, _, value = words.partition("=")
        key, value = key.strip().lower(), value.strip()
        if key in PLAIN.get(section, ()) and _is_plain(value):
            found.setdefault(section, []).append(f"\t{key} = {value}\n")
        else:
            dropped.append(f"{section}.{key}"[:100])
    if "core" not in found:
        return DEFAULT, dropped
    body = "".join(f"[{name}]\n{''.join(lines)}" for name, lines in found.items())
    return body, dropped


def _is_plain(value: str) -> bool:
    return bool(value) and all(char.isalnum() or char in " .@_+-" for char in value)


def _is_hash(text: str) -> bool:
    return len(text) in (40, 64) and all(char in "0123456789abcdef" for char in text)


def _transfer(source: int, target: int, name: str) -> None:
    """Copy one file or directory, if it is there and is one."""
    parent, _, last = name.rpartition("/")
    try:
        inner = os.open(parent, _DIRECTORY, dir_fd=source) if parent else os.dup(source)
    except OSError:
        return
    try:
        try:
            status = os.stat(last, dir_fd=inner, follow_symlinks=False)
        except OSError:
            return
        if parent:
            _directory(target, parent)
        outer = os.open(parent, _DIRECTORY, dir_fd=target) if parent else os.dup(target)
        try:
            if stat.S_ISDIR(status.st_mode):
                _tree(inner, outer, last)
            elif stat.S_ISREG(status.st_mode):
                _file(inner, outer, last)
        finally:
            os.close(outer)
    finally:
        os.close(inner)


def _tree(inner: int, outer: int, name: str) -> None:
    _directory(outer, name)
    source = os.open(name, _DIRECTORY, dir_fd=inner)
    target = os.open(name, _DIRECTORY, dir_fd=outer)
    try:
        for entry in os.listdir(source):
            mode = os.stat(entry, dir_fd=source, follow_symlinks=False).st_mode
            if entry in LEFT_OUT:
                continue
            if stat.S_ISDIR(mode):
                _tree(source, target, entry)
            elif stat.S_ISREG(mode):
                _file(source, target, entry)
    finally:
        os.close(source)
        os.close(target)


def _directory(target: int, name: str) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=target)
    except FileExistsError:
        return  # made before, by us


def _file(source: int, target: int, name: str) -> None:
    with open(os.open(name, _READ, dir_fd=source), "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            mode = stat.S_IMODE(status.st_mode) & 0o644
            with open(os.open(name, _MAKE, mode, dir_fd=target), "wb") as copy:
                while chunk := file.read(1 << 20):
                    copy.write(chunk)


def _put(target: int, name: str, data: bytes) -> None:
    with open(os.open(name, _MAKE, 0o644, dir_fd=target), "wb") as file:
        file.write(data)


def _text(source: int, name: str, limit: int) -> str:
    try:
        fd = os.open(name, _READ, dir_fd=source)
    except OSError:
        return ""
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        return file.read(limit).decode("utf-8", "replace")


def _names(source: int, name: str) -> list[str]:
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=source)
    except OSError:
        return []
    try:
        return sorted(os.listdir(fd))
    finally:
        os.close(fd)


def _size(source: int) -> int:
    return sum(
        os.stat(name, dir_fd=fd, follow_symlinks=False).st_size for fd, name in _files(source)
    )


def _files(source: int) -> Iterator[tuple[int, str]]:
    for _path, _directories, names, fd in os.fwalk(".", dir_fd=source, follow_symlinks=False):
        for name in names:
            yield fd, name


def _remove(nursery: str) -> None:
    """Delete a directory that is ours, without following links."""
    try:
        with os.scandir(nursery) as entries:
            found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for path, is_dir in found:
            if is_dir:
                _remove(path)
            else:
                os.unlink(path)
        os.rmdir(nursery)
    except OSError:
        return  # what is left lies in the private temporary directory, which goes as a whole
