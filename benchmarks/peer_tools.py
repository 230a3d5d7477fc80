"""The three tools of the minimal programs over other SDKs."""

from __future__ import annotations

import subprocess
from pathlib import Path


def read_file(path: str) -> str:
    """Read a text file."""
    return Path(path).read_text()


def write_file(path: str, content: str) -> str:
    """Write a text file."""
    Path(path).write_text(content)
    return "written"


def bash(command: str) -> str:
    """Run a command with bash."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}[exit code {done.returncode}]"
