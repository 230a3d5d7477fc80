"""`context`: what the model is told beside the task."""

from __future__ import annotations

from pathlib import PurePosixPath

from bridle.spec.base import Section


class ContextSection(Section, frozen=True, kw_only=True):
    """What the model is told beside the task."""

    instruction_files: list[str] | None = None

    def __post_init__(self) -> None:
        for name in self.instruction_files or ():
            path = PurePosixPath(name)
            if not name or path.is_absolute() or ".." in path.parts:
                raise ValueError(f"{name!r} is not a path within the project")
