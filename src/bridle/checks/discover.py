"""Find the checks that a project has, where its spec names none."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from bridle.checks.interpreters import python_with_pytest, pythons

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A named command that passes with exit code 0."""

    name: str
    command: str
    timeout: float = 300.0


def discover(root: Path, *, timeout: float = 300.0) -> tuple[Check, ...]:
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
            return (Check(name=name, command=found, timeout=timeout),)
    return ()


def why_none(root: Path) -> str | None:
    """Why tests that are there cannot be run; None where there are none."""
    if uses_pytest(root) and python_with_pytest(root) is None:
        return "the tests need pytest, which no Python found here has; nothing was checked"
    return None


def _test_texts(root: Path) -> Iterator[str]:
    return (file.read_text("utf-8", "replace") for file in _test_files(root))


def _test_files(root: Path) -> list[Path]:
    places = [root, root / "tests", root / "test"]
    return [
        file
        for place in places
        if place.is_dir()
        for pattern in ("test_*.py", "*_test.py")
        for file in sorted(place.glob(pattern))
    ]


def uses_pytest(root: Path) -> bool:
    """Whether the project's tests are written for pytest."""
    if any((root / name).exists() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")):
        return True
    pyproject = root / "pyproject.toml"
    if pyproject.exists() and "pytest" in pyproject.read_text("utf-8", "replace"):
        return True
    return any(
        "import pytest" in text or "\ndef test_" in f"\n{text}" for text in _test_texts(root)
    )


def _pytest(root: Path) -> str | None:
    if not uses_pytest(root):
        return None
    python = python_with_pytest(root)
    return f"{shlex.quote(python)} -m pytest -q -p no:cacheprovider" if python is not None else None


def _unittest(root: Path) -> str | None:
    """Only where there is a test case: a run of no tests would pass."""
    if not any("unittest" in text for text in _test_texts(root)):
        return None
    start = (
        "tests" if (root / "tests").is_dir() and not (root / "tests/__init__.py").exists() else "."
    )
    return f"{shlex.quote(pythons(root)[0])} -m unittest discover -s {start} -t ."


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
