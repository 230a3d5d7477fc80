"""Facts about where the agent works, as they are when a run starts."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def environment_facts(root: Path, here: Path, *, now: float, sandbox: str) -> str:
    """A few lines: directory, version control, platform, date, and what confines commands.

    `here` is where the user is, at or below the directory that paths are relative to.
    """
    date = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
    lines = [
        f"Directory: {root}",
        *([f"The user is in: {here.relative_to(root)}"] if here != root else ()),
        f"Git: {_git(root)}",
        f"Platform: {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        f"Date: {date}",
        f"Commands run in sandbox: {sandbox}",
    ]
    return "\n".join(lines)


def _git(root: Path) -> str:
    """The branch, read from the files of the repository; no command of the project is run."""
    for place in (root, *root.parents):
        git = place / ".git"
        if git.is_file():
            return "a worktree"
        if git.is_dir():
            try:
                head = (git / "HEAD").read_text("utf-8").strip()
            except OSError:
                return "a repository"
            return f"branch {head.rpartition('/')[2]}" if head.startswith("ref:") else "detached"
    return "none"
