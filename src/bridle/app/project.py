"""Which project a directory belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.spec.load import find_spec

if TYPE_CHECKING:
    from pathlib import Path


def resource_of(directory: Path) -> str:
    """What groups the threads of a project: the real path of its git root, else of itself."""
    here = directory.resolve()
    for candidate in (here, *here.parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return str(here)


def project_of(directory: Path) -> Path:
    """The nearest directory with a spec, up to the git root; else the directory itself."""
    here = directory.resolve()
    top = resource_of(here)
    for candidate in (here, *here.parents):
        if find_spec(candidate) is not None:
            return candidate
        if str(candidate) == top:
            return here
    return here
