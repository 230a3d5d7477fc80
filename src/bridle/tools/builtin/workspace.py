"""Where the built-in tools work: one directory, and how a path that the model gives is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.errors import ToolError
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from pathlib import Path

    from bridle.ports.processes import Processes
    from bridle.ports.sandbox import Sandbox


class Workplace(Fixed, frozen=True, kw_only=True):
    """The root of the workspace, and what runs commands in it."""

    root: Path
    processes: Processes
    sandbox: Sandbox

    def locate(self, path: str) -> Path:
        """Resolve a path, links included; one that leaves the workspace is refused."""
        if "\0" in path:
            raise ToolError("A path cannot contain a NUL character.", kind="denied")
        found = (self.root / path).resolve()
        if not found.is_relative_to(self.root):
            raise ToolError(
                f"{path!r} is outside the workspace.",
                hint="Use a path below the workspace's root.",
                kind="denied",
            )
        return found

    def touched(self, args: dict[str, Any]) -> tuple[str, ...]:
        """The path that a call names, resolved, for the gate."""
        path = args.get("path")
        if not isinstance(path, str) or "\0" in path:
            return ()
        return (str((self.root / path).resolve()),)
