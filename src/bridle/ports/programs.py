"""Where a program lies, as `shutil.which` finds it.

That module loads three libraries for archives, a hundredth of a short run; it is asked where paths
are not POSIX.
"""

from __future__ import annotations

import os


def which(name: str) -> str | None:
    """The first program of this name on PATH."""
    if os.name != "posix" or "/" in name:
        import shutil

        return shutil.which(name)
    for directory in os.get_exec_path():
        path = os.path.join(directory or os.curdir, name)  # noqa: PTH118 - a name per directory
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    return None
