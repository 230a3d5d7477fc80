"""The private index from the user's: what is unchanged need not be read again.

An index also knows files whose object is not what lies on the disk: line ends were converted, or a
pointer stands for a large file. Those are forgotten, so that they are read as they are.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import anyio

from bridle.sandbox.repository import read_text

if TYPE_CHECKING:
    from bridle.sandbox.repository import Repository

_NEEDS_MORE_FILES = (b"link\0\0", b"sdir\0\0")
"""Extensions of a split and of a sparse index."""

POINTER = 1024
"""A pointer to a large file is shorter than this."""


async def seed(repository: Repository) -> None:
    """Replace the private index by the user's, as far as it describes the bytes on the disk."""
    data = await anyio.to_thread.run_sync(_copy, repository)
    if data is None:
        return
    odd: set[bytes] = set()
    if b"attributes" in data or _converts_line_ends(repository):
        odd |= await _converted(repository)
    _, unmerged = await repository.git("ls-files", "-u", "-z")
    odd |= {record.split(b"\t", 1)[1] for record in unmerged.split(b"\0") if record}
    if odd:
        paths = b"".join(path + b"\0" for path in sorted(odd))
        await repository.git("update-index", "--force-remove", "-z", "--stdin", stdin=paths)


def _copy(repository: Repository) -> bytes | None:
    """Copy the user's index with its time, which decides what may have changed since."""
    source = repository.source.index
    copy = os.path.join(repository.directory, "tmp", "index")
    try:
        shutil.copyfile(source, copy)
        shutil.copystat(source, copy)
    except OSError:
        return None
    with open(copy, "rb") as file:
        data = file.read()
    if any(mark in data for mark in _NEEDS_MORE_FILES):
        return None
    os.replace(copy, repository.index)
    return data


async def _converted(repository: Repository) -> set[bytes]:
    """Files whose object may be something else than their bytes.

    Converted line ends change the size; a pointer to a large file is short, and might have the
    size of a short file; what other filters do cannot be told.
    """
    _, listing = await repository.git("ls-files", "-s", "-z")
    records = [record for record in listing.split(b"\0") if record]
    entries = [record.split(b"\t", 1) for record in records if not record.startswith(b"160000")]
    words = _attributes(repository, [path for _, path in entries])
    filters = {word for word in words if word.startswith(("filter=", "ident", "working-tree-enc"))}
    if filters - {"filter=lfs"}:
        return {path for _, path in entries}
    shortest = POINTER if filters else 0
    ids = b"".join(facts.split()[1] + b"\n" for facts, _ in entries)
    _, sizes = await repository.git("cat-file", "--batch-check=%(objectsize)", stdin=ids)
    return {
        path
        for (_, path), size in zip(entries, sizes.splitlines(), strict=True)
        if _size(repository, path) != size or int(size) < shortest
    }


def _attributes(repository: Repository, paths: list[bytes]) -> set[str]:
    """All words in the attribute files of a repository."""
    top = os.fsencode(repository.source.top)
    named = [path for path in paths if path.endswith(b".gitattributes")]
    texts = [read_text(os.fsdecode(os.path.join(top, path))) for path in named]
    texts.append(read_text(os.path.join(os.path.dirname(repository.source.exclude), "attributes")))
    return set(" ".join(texts).split())


def _size(repository: Repository, path: bytes) -> bytes | None:
    try:
        status = os.lstat(os.path.join(os.fsencode(repository.source.top), path))
    except OSError:
        return None
    return str(status.st_size).encode()


def _converts_line_ends(repository: Repository) -> bool:
    config = read_text(os.path.join(os.path.dirname(repository.source.objects), "config"))
    own = read_text(os.path.join(os.path.expanduser("~"), ".gitconfig"))
    attributes = read_text(os.path.join(os.path.dirname(repository.source.exclude), "attributes"))
    return bool(attributes) or "autocrlf" in (config + own).lower()
