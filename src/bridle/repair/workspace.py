"""A private copy of the project: candidates run there, the user's files are only read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SKIPPED = frozenset(
    {
        ".bridle",
        ".git",
        ".hg",
        ".hypothesis",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".venv",
        "__pycache__",
        "node_modules",
        "venv",
    }
)
NOT_SOURCE = SKIPPED | {"build", "dist", "site-packages", "docs", "doc", "examples"}
TEST_DIRECTORIES = frozenset({"test", "tests", "testing"})


def copy_project(root: Path, destination: Path) -> None:
    """Copy the project without caches, environments and history."""

    def ignore(folder: str, names: list[str]) -> set[str]:
        here = Path(folder)
        return {n for n in names if n in SKIPPED or (here / n / "pyvenv.cfg").exists()}

    shutil.copytree(root, destination, ignore=ignore, symlinks=True, dirs_exist_ok=True)


def is_test_file(path: str) -> bool:
    """Tell tests and their support from the code under test, by the usual names."""
    parts = path.split("/")
    name = parts[-1]
    return (
        name == "conftest.py"
        or name.startswith(("test_", "tests."))
        or name in {"test.py", "setup.py", "noxfile.py"}
        or name.removesuffix(".py").endswith(("_test", "_tests"))
        or any(part in TEST_DIRECTORIES for part in parts[:-1])
    )


def source_files(root: Path) -> list[str]:
    """List the project's own modules that may be edited, relative to the root."""
    return [path for path in python_files(root) if not is_test_file(path)]


def python_files(root: Path) -> list[str]:
    """List the project's modules and its tests, relative to the root."""
    return sorted(_python_files(root, root))


def tests_start_processes(root: Path) -> bool:
    """Tell whether a test seems to start other processes."""
    tests = (path for path in python_files(root) if is_test_file(path))
    return any("subprocess" in text for text in read_sources(root, tests).values())


def _python_files(folder: Path, root: Path) -> Iterator[str]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name in NOT_SOURCE or entry.name.startswith("."):
            continue
        if entry.is_symlink():
            continue
        if entry.is_dir():
            if not (entry / "pyvenv.cfg").exists():
                yield from _python_files(entry, root)
        elif entry.suffix == ".py":
            yield entry.relative_to(root).as_posix()


def import_roots(root: Path) -> list[str]:
    """Directories that must be importable: the root, and `src`-like folders that hold packages."""
    found = [str(root)]
    for name in ("src", "lib", "python"):
        folder = root / name
        if folder.is_dir() and not (folder / "__init__.py").exists():
            found.insert(0, str(folder))
    return found


def read_sources(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Read files as text; what is not UTF-8 is left out, because it cannot be edited safely."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            with (root / path).open(encoding="utf-8", newline="") as file:
                found[path] = file.read()
        except (OSError, UnicodeDecodeError):
            continue
    return found
