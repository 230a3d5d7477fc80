"""A small project with a bug, to try `bridle fix` on: standard library only."""

from __future__ import annotations

import shutil
from pathlib import Path

PROJECT = Path(__file__).parent / "project"


def copy_sample(destination: str | Path) -> Path:
    """Copy the sample project to a new or empty directory and return its path.

    Raises FileExistsError when something is there already.
    """
    place = Path(destination)
    if place.exists() and any(place.iterdir()):
        raise FileExistsError(f"{place} is not empty")
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(PROJECT, place, ignore=ignore, dirs_exist_ok=True)
    return place
