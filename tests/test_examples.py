"""Every example prints what its docstring says; the first project is run as a new user does."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.cli import Bridle

EXAMPLES = Path(__file__).parent.parent / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def promised(program: Path) -> str:
    """What an example's docstring says that it prints."""
    said = ast.get_docstring(ast.parse(program.read_text())) or ""
    _, found, output = said.partition("Prints:\n\n")
    assert found, f"{program.name} does not say what it prints"
    return textwrap.dedent(output)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_prints_what_it_promises(program: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        env=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip() == promised(program).rstrip()
    assert done.stderr == ""


def test_the_first_project_fails_until_the_agent_repairs_it(tmp_path: Path) -> None:
    project = tmp_path / "first"
    shutil.copytree(EXAMPLES / "first", project, ignore=shutil.ignore_patterns("__pycache__"))
    bridle = Bridle(cwd=project, home=tmp_path)

    def tests() -> int:
        command = [sys.executable, "-B", "-m", "unittest", "-q"]
        return subprocess.run(command, cwd=project, capture_output=True, check=False).returncode

    assert tests() != 0
    done = bridle("run", "--yolo", "make the tests pass", "--output-format", "json")
    assert done.code == 0, done.err
    assert done.json["verdict"] == "verified"
    assert done.json["files_changed"] == ["prices.py"]
    assert tests() == 0
