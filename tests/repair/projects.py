"""Tiny projects with a bug, written to a directory."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from bridle.repair.report import RepairReport
from bridle.repair.tool import try_edits


def write(root: Path, **files: str) -> Path:
    """Write files; `__` in a name is a slash and the suffix is `.py`."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return root


def tree_hash(root: Path) -> str:
    """One hash over names and contents, caches left out."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


async def repair(
    root: Path, *, seconds: float = 60.0, python: str = sys.executable
) -> RepairReport:
    return await try_edits(root, python=python, time_budget=seconds, workers=2)


def patched(root: Path, report: RepairReport, *, python: str = sys.executable) -> bool:
    """Make the edits as the agent would, then run the suite in an ordinary process."""
    for part in report.patch:
        path = root / part.path
        text = path.read_text()
        assert text.count(part.old) == 1
        path.write_text(text.replace(part.old, part.new))
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(root)]
    if python != sys.executable:
        command = [python, "-m", "unittest"]
    return subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 0


def processes(mark: str) -> set[str]:
    """Running processes that inherited this mark in their environment, this one left out."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "environ").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if mark in text:
                found.add(entry.name)
    return found
