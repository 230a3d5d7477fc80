"""File snapshots for undo: trees before and after what a tool did, and the way back.

`snapshot` covers the whole workspace (what git would not ignore), `save_paths` only the files that
a tool is about to touch. Both return a tree id; `restore` undoes exactly what lies between two of
them.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Literal

import anyio

from bridle.errors import RunError, ToolError
from bridle.sandbox import index, restoring
from bridle.sandbox.objects import Blob, write_object, write_tree
from bridle.sandbox.repository import Repository
from bridle.sandbox.restoring import Change, Restored
from bridle.sandbox.walk import Root

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.ports.processes import Processes

MAX_FILE = 64 * 1024 * 1024
MAX_FILES = 100_000
MAX_BYTES = 4 * 1024 * 1024 * 1024
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
RESEED = 1000
"""So many changes at once look like a checkout: the user's index may know them already."""


class Checkpoints:
    """Snapshots of one workspace, kept under a state directory of ours.

    Paths in arguments and results are relative to the workspace. Ignored files, nested
    repositories and files over 64 MiB are not covered; `uncovered` lists them.
    """

    def __init__(self, root: str, *, state: str, processes: Processes) -> None:
        self.root = os.path.realpath(root)
        self.repository = Repository.at(self.root, state=state, processes=processes)
        top = self.repository.source.top
        self.scope = "" if self.root == top else os.path.relpath(self.root, top) + "/"
        self._lock = anyio.Lock()
        self._last: tuple[tuple[int, ...], str] | None = None
        self._seeded = 0

    async def snapshot(self) -> str:
        """Save the workspace as it is now; the id of its tree."""
        async with self._lock, self.repository.locked():
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

    async def save_paths(self, paths: Iterable[str]) -> str:
        """Save just these files (absent ones are recorded as absent); the id of their tree.

        Of a link, both the link and what it leads to are saved; what lies outside is not.
        """
        return await anyio.to_thread.run_sync(self._save, list(paths))

    async def diff(self, before: str, after: str) -> tuple[Change, ...]:
        """What changed from one tree to the other, by path."""
        scope = ("--", self.scope) if self.scope else ()
        _, raw = await self.repository.git(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after, *scope
        )
        fields = raw.split(b"\0")
        return tuple(
            self._change(facts.decode(), os.fsdecode(path))
            for facts, path in zip(fields[::2], fields[1::2], strict=False)
        )

    async def restore(self, from_tree: str, to_tree: str, *, root: str | None = None) -> Restored:
        """Take back what led from `to_tree` to `from_tree`, and nothing else.

        A file that is no longer as in `from_tree` was edited since: the edit is kept where both
        can be merged, else the file is left alone and told as a conflict. Swapping the trees is
        redo. `root` is another directory with a copy of the workspace, to do it there.
        """
        place = root or self.root
        changes = await self.diff(from_tree, to_tree)
        contents = await restoring.contents(self.repository, changes)
        async with self._lock:
            steps = await anyio.to_thread.run_sync(restoring.plan, place, changes, contents)
            steps = await restoring.merge(self.repository, steps)
            return await anyio.to_thread.run_sync(restoring.apply, place, steps)

    async def copy(self, root: str) -> Restored:
        """Write the workspace as it is now, what is not covered excepted, to an empty directory."""
        return await self.restore(EMPTY_TREE, await self.snapshot(), root=root)

    async def uncovered(self, limit: int = 1000) -> tuple[str, ...]:
        """What snapshots do not hold: ignored files and directories, and the other exceptions."""
        _, ignored = await self.repository.git(
            "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory", *self._scoped()
        )
        _, others = await self.repository.git(
            "ls-files", "-z", "-o", "--exclude-standard", *self._scoped()
        )
        found = [path for path in ignored.split(b"\0") if path]
        found += [path for path in others.split(b"\0") if path and self._size(path) is None]
        return tuple(os.fsdecode(path).removeprefix(self.scope) for path in sorted(found)[:limit])

    async def changed_ignored(self, since: float, limit: int = 50) -> tuple[str, ...]:
        """What snapshots do not hold and was changed since a moment, as far as can be seen."""
        names = await self.uncovered()
        return await anyio.to_thread.run_sync(_changed_since, self.root, names, since, limit)

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

    def _save(self, paths: list[str]) -> str:
        objects = os.path.join(self.repository.directory, "objects")
        roots = (Root(self.root, self.root),)
        blobs: dict[str, Blob] = {}
        for path in paths:
            for found in restoring.touched(roots, path):
                if found.data is not None:
                    name = write_object(objects, "blob", found.data)
                    blobs[self.scope + found.path] = Blob(found.mode, name)
        return write_tree(objects, blobs)

    def _change(self, facts: str, path: str) -> Change:
        old_mode, new_mode, old_id, new_id, status = facts.lstrip(":").split(" ")
        names: dict[str, Literal["added", "modified", "deleted"]] = {"A": "added", "D": "deleted"}
        return Change(
            path=path.removeprefix(self.scope),
            status=names.get(status, "modified"),
            before=Blob(old_mode.strip("0") and old_mode, old_id),
            after=Blob(new_mode.strip("0") and new_mode, new_id),
        )

    async def _seed(self) -> None:
        self._seeded = self._index_time()
        await index.seed(self.repository)

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


MOST_LOOKED_AT = 20_000


def _changed_since(root: str, names: tuple[str, ...], since: float, limit: int) -> tuple[str, ...]:
    """Those of the files and directories that changed, or hold something that did."""
    found: list[str] = []
    left = MOST_LOOKED_AT
    for name in names:
        stack = [os.path.join(root, name)]
        while stack and left > 0 and len(found) < limit:
            path = stack.pop()
            left -= 1
            try:
                status = os.lstat(path)
                if max(status.st_mtime, status.st_ctime) >= since:
                    found.append(name)
                    break
                if stat.S_ISDIR(status.st_mode):
                    stack += [entry.path for entry in os.scandir(path)]
            except OSError:
                continue
    return tuple(found)
