"""The Python that a project's tests are run with: its own environment's, before any other."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from bridle.ports.programs import which

PROBE = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"
SECONDS = 20.0


def pythons(root: Path) -> list[str]:
    """Interpreters that may be meant, the nearest first."""
    own = [root / name / "bin" / "python" for name in (".venv", "venv")]
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        own.append(Path(active) / "bin" / "python")
    found = [str(path) for path in own if path.exists()]
    return list(dict.fromkeys([*found, sys.executable, *_on_path()]))


def python_with_pytest(root: Path) -> str | None:
    """The nearest interpreter that has pytest."""
    return next((python for python in pythons(root) if _has_pytest(python)), None)


def _on_path() -> list[str]:
    return [found for name in ("python3", "python") if (found := which(name)) is not None]


@cache
def _has_pytest(python: str) -> bool:
    try:
        done = subprocess.run([python, "-c", PROBE], check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
