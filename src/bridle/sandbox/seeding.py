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
    """Files whose object has another size than the file, or might be filtered at equal size."""
    _, listing = await repository.git("ls-files", "-s", "-z")
    entries = [record.split(b"\t", 1) for record in listing.split(b"\0") if record]
    if _has_filters(repository, [path for _, path in entries if path.endswith(b".gitattributes")]):
        return {path for _, path in entries}
    ids = b"".join(facts.split()[1] + b"\n" for facts, _ in entries)
    _, sizes = await repository.git("cat-file", "--batch-check=%(objectsize)", stdin=ids)
    return {
        path
        for (facts, path), size in zip(entries, sizes.split(b"\n"), strict=False)
        if not facts.startswith(b"160000") and _size(repository, path) != size
    }


def _size(repository: Repository, path: bytes) -> bytes | None:
    try:
        status = os.lstat(os.path.join(os.fsencode(repository.source.top), path))
    except OSError:
        return None
    return str(status.st_size).encode()


def _has_filters(repository: Repository, paths: list[bytes]) -> bool:
    top = os.fsencode(repository.source.top)
    texts = [read_text(os.fsdecode(os.path.join(top, path))) for path in paths]
    texts.append(read_text(os.path.join(os.path.dirname(repository.source.exclude), "attributes")))
    words = " ".join(texts).replace("filter=lfs", "").split()
    return any(word.startswith(("filter=", "ident", "working-tree-encoding")) for word in words)


def _converts_line_ends(repository: Repository) -> bool:
    config = read_text(os.path.join(os.path.dirname(repository.source.objects), "config"))
    own = read_text(os.path.join(os.path.expanduser("~"), ".gitconfig"))
    attributes = read_text(os.path.join(os.path.dirname(repository.source.exclude), "attributes"))
    return bool(attributes) or "autocrlf" in (config + own).lower()
