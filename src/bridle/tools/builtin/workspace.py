"""Where the built-in tools work: files by descriptors, commands in the sandbox, what was read."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ToolError
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from bridle.ports.processes import Processes
    from bridle.ports.sandbox import Sandbox
    from bridle.sandbox.files import FileAccess, FileStatus

REMEMBERED = 2000


class SeenFiles(Fixed, frozen=True):
    """What each thread last saw of each file, so that an edit of something else is refused."""

    _seen: OrderedDict[tuple[str, str], FileStatus] = msgspec.field(default_factory=OrderedDict)

    def remember(self, thread_id: str, status: FileStatus) -> None:
        """A thread has read or written a file."""
        self._seen[thread_id, status.path] = status
        self._seen.move_to_end((thread_id, status.path))
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)

    def last(self, thread_id: str, path: str) -> FileStatus | None:
        """What the thread saw of a file, if it did."""
        return self._seen.get((thread_id, path))


class Workplace(Fixed, frozen=True, kw_only=True, weakref=True):
    """The root of the workspace, access to its files, and what runs commands in it."""

    root: Path
    files: FileAccess
    processes: Processes
    sandbox: Sandbox
    seen: SeenFiles = msgspec.field(default_factory=SeenFiles)

    def touched(self, args: dict[str, Any]) -> tuple[str, ...]:
        """The path that a call names, resolved, for the gate; what leaves the workspace stays."""
        path = args.get("path")
        if not isinstance(path, str):
            return ()
        try:
            return (self.files.resolve(path),)
        except ToolError:
            return (str(self.root / path.replace("\0", "\\0")),)

    def directory(self, path: str | None) -> str:
        """The real path of a directory in the workspace."""
        real = self.files.resolve(path or ".")
        if not Path(real).is_dir():
            raise ToolError(f"There is no directory {path!r}.", kind="not_found")
        return real
