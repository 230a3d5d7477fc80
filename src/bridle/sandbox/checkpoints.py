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

from bridle.sandbox import restoring
from bridle.sandbox.index import Index
from bridle.sandbox.objects import Blob, write_object, write_tree
from bridle.sandbox.repository import Repository
from bridle.sandbox.restoring import Change, Restored
from bridle.sandbox.walk import Root

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridle.ports.processes import Processes

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


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
        self._index = Index(repository=self.repository, scope=self.scope)
        self._lock = anyio.Lock()

    async def snapshot(self) -> str:
        """Save the workspace as it is now; the id of its tree."""
        async with self._lock, self.repository.locked():
            return await self._index.write()

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
        found = sorted(await self._index.left_out())[:limit]
        return tuple(os.fsdecode(path).removeprefix(self.scope) for path in found)

    async def changed_ignored(self, since: float, limit: int = 50) -> tuple[str, ...]:
        """What snapshots do not hold and was changed since a moment, as far as can be seen."""
        names = await self.uncovered()
        return await anyio.to_thread.run_sync(_changed_since, self.root, names, since, limit)

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
