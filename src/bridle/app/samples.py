"""The bundled sample project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.repair import sample

if TYPE_CHECKING:
    from pathlib import Path


def copy_sample(destination: Path) -> Path:
    """Copy the sample to a new or empty directory; `FileExistsError` when something is there."""
    return sample.copy_sample(destination)
