"""Why no edit of the code can help: tests that cannot even be read or imported here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridle.repair.workspace import is_test_file, python_files, read_sources

if TYPE_CHECKING:
    from pathlib import Path

    from bridle.repair.tests_runner import Baseline

MISSING = re.compile(r"No module named '([\w.]+)'")


def obstacle(root: Path, baseline: Baseline) -> str:
    """Say what stands in the way of collecting the tests, or nothing."""
    if not baseline.errors:
        return ""
    texts = "\n".join(run.message for run in baseline.errors.values())
    return _unreadable(root, texts) or _not_installed(root, baseline)


def _unreadable(root: Path, texts: str) -> str:
    """A file that is not Python and that the errors name."""
    for path, text in read_sources(root, python_files(root)).items():
        if path not in texts and path.rpartition("/")[2] not in texts:
            continue
        try:
            compile(text, path, "exec", dont_inherit=True)
        except SyntaxError as error:
            what = f"{path}, line {error.lineno} is not valid Python: {error.msg}."
            return f"{what} {'Tests are never edited.' if is_test_file(path) else ''}".strip()
        except ValueError as error:
            return f"{path} is not valid Python: {error}."
    return ""


def _not_installed(root: Path, baseline: Baseline) -> str:
    """A module that an import statement names and this Python does not have."""
    for run in baseline.errors.values():
        name = missing_module(run.message)
        if not name or not run.frames:
            continue
        path, line = run.frames[-1]
        lines = read_sources(root, [path]).get(path, "").split("\n")
        words = lines[line - 1].split() if line <= len(lines) else []
        if words[:1] in (["import"], ["from"]) and not _is_here(root, name):
            return not_installed(name, where=f"{path}, line {line}", python=baseline.setup.python)
    return ""


def missing_module(message: str) -> str:
    """The module that an import did not find, by what Python says."""
    found = MISSING.findall(message)
    return found[-1] if found else ""


def not_installed(name: str, *, where: str, python: str) -> str:
    """What to do about a module that is not there."""
    return (
        f"{where} needs the module '{name}', which {python} does not have. "
        "Install what the project needs, in its .venv if it has one, and try again."
    )


def _is_here(root: Path, name: str) -> bool:
    """Tell whether the project has a module of this first name: then the import may be the bug."""
    top = name.split(".")[0]
    places = [root, root / "src", root / "lib", root / "python"]
    return any((p / top).exists() or (p / f"{top}.py").exists() for p in places)
