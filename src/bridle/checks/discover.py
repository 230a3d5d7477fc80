"""Find the checks that a project has, where its spec names none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathlib import Path


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A named command that passes with exit code 0."""

    name: str
    command: str
    timeout: float = 300.0


def discover(root: Path) -> tuple[Check, ...]:
    """Look for the usual test runners; the first that fits is the project's check."""
    for name, found in (
        ("pytest", _pytest(root)),
        ("unittest", _unittest(root)),
        ("npm test", _npm(root)),
        ("cargo test", "cargo test" if (root / "Cargo.toml").exists() else None),
        ("go test", "go test ./..." if (root / "go.mod").exists() else None),
        ("make test", "make test" if _has_target(root) else None),
    ):
        if found is not None:
            return (Check(name=name, command=found),)
    return ()


def _python() -> str:
    return sys.executable or "python3"


def _test_files(root: Path) -> list[Path]:
    places = [root, root / "tests", root / "test"]
    return [
        file
        for place in places
        if place.is_dir()
        for pattern in ("test_*.py", "*_test.py")
        for file in sorted(place.glob(pattern))
    ]


def _pytest(root: Path) -> str | None:
    configured = any(
        (root / name).exists() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")
    )
    pyproject = root / "pyproject.toml"
    if pyproject.exists():
        configured = configured or "pytest" in pyproject.read_text("utf-8", "replace")
    uses = any(
        "import pytest" in text or "\ndef test_" in text
        for text in (file.read_text("utf-8", "replace") for file in _test_files(root))
    )
    return f"{_python()} -m pytest -q" if configured or uses else None


def _unittest(root: Path) -> str | None:
    if not _test_files(root):
        return None
    start = (
        "tests" if (root / "tests").is_dir() and not (root / "tests/__init__.py").exists() else "."
    )
    return f"{_python()} -m unittest discover -s {start} -t ."


def _npm(root: Path) -> str | None:
    package = root / "package.json"
    if not package.exists():
        return None
    try:
        scripts = msgspec.json.decode(package.read_bytes()).get("scripts", {})
    except (msgspec.DecodeError, AttributeError):
        return None
    return "npm test --silent" if "test" in scripts else None


def _has_target(root: Path) -> bool:
    makefile = root / "Makefile"
    return makefile.exists() and "\ntest:" in "\n" + makefile.read_text("utf-8", "replace")
