"""Git objects written by hand: a few files saved without starting git."""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from typing import NamedTuple


class Blob(NamedTuple):
    """A file as a tree holds it: mode and object id."""

    mode: str
    id: str


EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def write_object(directory: str, kind: str, data: bytes) -> str:
    """Store an object in a directory of loose objects and return its id."""
    whole = b"%s %d\0%s" % (kind.encode(), len(data), data)
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    folder = os.path.join(directory, name[:2])
    path = os.path.join(folder, name[2:])
    if os.path.exists(path):
        os.utime(path)  # used again: what collects garbage looks at the time
    else:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        temporary = f"{path}.{os.urandom(6).hex()}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
        try:
            with open(fd, "wb") as file:
                file.write(zlib.compress(whole, 1))
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    return name


def blob_id(data: bytes) -> str:
    """The id that content would have."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def write_tree(directory: str, blobs: dict[str, Blob]) -> str:
    """Store a tree of paths and return its id."""
    files: dict[bytes, tuple[str, str]] = {}
    folders: dict[str, dict[str, Blob]] = {}
    for path, blob in blobs.items():
        first, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(first, {})[rest] = blob
        else:
            files[os.fsencode(first)] = blob
    for name, inner in folders.items():
        files[os.fsencode(name) + b"/"] = ("40000", write_tree(directory, inner))
    data = b"".join(
        mode.encode() + b" " + name.removesuffix(b"/") + b"\0" + bytes.fromhex(object_id)
        for name, (mode, object_id) in sorted(files.items())
    )
    return write_object(directory, "tree", data)
