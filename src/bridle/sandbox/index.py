"""The private index: what of a workspace is in a snapshot, and what has changed since the last one.

It begins with the user's: what is unchanged need not be read again. An index also knows files whose
object is not what lies on the disk: line ends were converted, or a pointer stands for a large file.
Those are forgotten, so that they are read as they are.
"""

from __future__ import annotations

import os
import stat

import anyio

from bridle.errors import RunError, ToolError
from bridle.sandbox.repository import Repository, read_text
from bridle.types.base import Moving

_NEEDS_MORE_FILES = (b"link\0\0", b"sdir\0\0")
"""Extensions of a split and of a sparse index."""

POINTER = 1024
"""A pointer to a large file is shorter than this."""

MAX_FILE = 64 * 1024 * 1024
MAX_FILES = 100_000
MAX_BYTES = 4 * 1024 * 1024 * 1024
RESEED = 1000
"""So many changes at once look like a checkout: the user's index may know them already."""


class Index(Moving, kw_only=True):
    """Follows the files of a workspace (`scope`, a part of the repository) and writes their tree.

    Ignored files, nested repositories and what is too large are left out.
    """

    repository: Repository
    scope: str
    _last: tuple[tuple[int, ...], str] | None = None
    _seeded: int = 0

    async def write(self) -> str:
        """Write the workspace as it is now; the id of its tree. The caller holds the locks."""
        if not self._index_state():
            await self._seed()
        try:
            changed = await self._changed()
        except RunError:  # an index that git cannot read is made anew, once
            os.unlink(self.repository.index)
            changed = await self._changed()
        if len(changed) > RESEED and self._index_time() > self._seeded:
            await self._seed()
            changed = await self._changed()
        if not changed and self._last is not None and self._last[0] == self._index_state():
            return self._last[1]
        # what cannot be a file any more is dropped first: git would refuse its path
        links: dict[bytes, bool] = {b"": False}
        turned = {p for p in changed if self._is_directory(p) or self._behind_link(p, links)}
        await self._update("--force-remove", paths=[path for path in changed if path in turned])
        rest = [path for path in changed if path not in turned]
        await self._update("--add", "--remove", "--replace", paths=rest)
        _, tree = await self.repository.git("write-tree")
        self._last = (self._index_state(), tree.decode().strip())
        return self._last[1]

    async def left_out(self) -> list[bytes]:
        """The paths that are not written: ignored ones, and the other exceptions."""
        _, ignored = await self.repository.git(
            "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory", *self._scoped()
        )
        _, others = await self.repository.git(
            "ls-files", "-z", "-o", "--exclude-standard", *self._scoped()
        )
        found = [path for path in ignored.split(b"\0") if path]
        return found + [path for path in others.split(b"\0") if path and self._size(path) is None]

    async def _changed(self) -> list[bytes]:
        """Paths that differ from the private index, without what is not covered."""
        _, listing = await self.repository.git(
            "ls-files", "-z", "-t", "-m", "-o", "--exclude-standard", *self._scoped()
        )
        found: dict[bytes, None] = {}
        total = 0
        for record in listing.split(b"\0"):
            size = self._size(record[2:]) if record else None
            if size is not None:
                found[record[2:]] = None
                total += size
        if len(found) > MAX_FILES or total > MAX_BYTES:
            raise ToolError(
                f"the workspace is too large to snapshot: {len(found):,} new files, "
                f"{total:,} bytes; ignore what need not be undone in .gitignore",
                kind="too_large",
            )
        return list(found)

    async def _update(self, *options: str, paths: list[bytes]) -> None:
        if paths:
            stdin = b"".join(path + b"\0" for path in paths)
            await self.repository.git("update-index", *options, "-z", "--stdin", stdin=stdin)

    def _is_directory(self, path: bytes) -> bool:
        full = os.path.join(os.fsencode(self.repository.source.top), path)
        return os.path.isdir(full) and not os.path.islink(full)

    def _behind_link(self, path: bytes, known: dict[bytes, bool]) -> bool:
        """Whether a directory on the way to a path is a link now; `known` are those looked at."""
        parent = os.path.dirname(path)
        if parent not in known:
            full = os.path.join(os.fsencode(self.repository.source.top), parent)
            known[parent] = self._behind_link(parent, known) or os.path.islink(full)
        return known[parent]

    def _size(self, path: bytes) -> int | None:
        """The size of what a snapshot would read; None for what it does not cover."""
        full = os.path.join(os.fsencode(self.repository.source.top), path)
        try:
            status = os.lstat(full)
        except OSError:
            return 0  # deleted: recorded as such
        if stat.S_ISDIR(status.st_mode):
            nested = path.endswith(b"/") or os.path.lexists(os.path.join(full, b".git"))
            return None if nested else 0
        if not stat.S_ISREG(status.st_mode):
            return 0 if stat.S_ISLNK(status.st_mode) else None
        if status.st_size > MAX_FILE or not os.access(full, os.R_OK):
            return None
        return status.st_size

    async def _seed(self) -> None:
        self._seeded = self._index_time()
        await seed(self.repository)

    def _index_time(self) -> int:
        try:
            return os.stat(self.repository.source.index).st_mtime_ns
        except OSError:
            return 0

    def _index_state(self) -> tuple[int, ...]:
        try:
            status = os.stat(self.repository.index)
        except OSError:
            return ()
        return (status.st_ino, status.st_mtime_ns, status.st_size)

    def _scoped(self) -> tuple[str, ...]:
        return ("--", self.scope) if self.scope else ()


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
    import shutil

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
