"""Real paths of many paths at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def real_paths(paths: Iterable[str]) -> list[str]:
    """What `os.path.realpath` says of each; a directory that many lie in is resolved once."""
    directories: dict[str, str] = {}
    found: list[str] = []
    for path in paths:
        directory, name = os.path.split(path.rstrip("/"))
        if name in ("", ".", ".."):
            found.append(os.path.realpath(path))
            continue
        if directory not in directories:
            directories[directory] = os.path.realpath(directory)
        whole = os.path.join(directories[directory], name)
        found.append(os.path.realpath(whole) if os.path.islink(whole) else whole)
    return found
