"""Find the checks that a project has, where its spec names none."""

from __future__ import annotations

import re
import shlex
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from bridle.checks.interpreters import python_with_pytest, pythons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MOST_FILES = 200
PYTEST_FUNCTION = re.compile(r"^(?:async )?def test", re.MULTILINE)
TEST_CLASS = re.compile(r"^class Test", re.MULTILINE)


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


def _texts(files: Iterable[Path]) -> Iterator[str]:
    return (file.read_text("utf-8", "replace") for file in files)


def _test_files(root: Path) -> list[Path]:
    """Files that are named like tests: beside the project's files, and anywhere in its tests."""
    return [
        file
        for pattern in ("test_*.py", "*_test.py")
        for place, deep in ((root, ""), (root / "tests", "**/"), (root / "test", "**/"))
        for file in islice(sorted(place.glob(deep + pattern)), MOST_FILES)
        if file.is_file()
    ]


def uses_pytest(root: Path) -> bool:
    """Whether the project's tests are written for pytest."""
    if any((root / name).exists() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")):
        return True
    pyproject = root / "pyproject.toml"
    if pyproject.exists() and "pytest" in pyproject.read_text("utf-8", "replace"):
        return True
    return any(_is_for_pytest(text) for text in _texts(_test_files(root)))


def _is_for_pytest(text: str) -> bool:
    """A test that is a function, or a method of a class that is no `unittest.TestCase`."""
    if "import pytest" in text or PYTEST_FUNCTION.search(text):
        return True
    return "unittest" not in text and TEST_CLASS.search(text) is not None


def _pytest(root: Path) -> str | None:
    if not uses_pytest(root):
        return None
    python = python_with_pytest(root)
    return f"{shlex.quote(python)} -m pytest -q -p no:cacheprovider" if python is not None else None


def _unittest(root: Path) -> str | None:
    """Only where a test case would be found: a run of no tests would pass."""
    start = (
        "tests" if (root / "tests").is_dir() and not (root / "tests/__init__.py").exists() else "."
    )
    reached = [file for file in _test_files(root) if _is_reached(file, root / start)]
    if not any("unittest" in text for text in _texts(reached)):
        return None
    return f"{shlex.quote(pythons(root)[0])} -m unittest discover -s {start} -t ."


def _is_reached(file: Path, start: Path) -> bool:
    """Whether `unittest discover` finds a file: by its name, through packages."""
    if not file.name.startswith("test") or not file.is_relative_to(start):
        return False
    between = [place for place in file.parents if place != start and place.is_relative_to(start)]
    return all((place / "__init__.py").exists() for place in between)


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
