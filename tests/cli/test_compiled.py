"""What is taken from the bundle is what would have been compiled."""

from __future__ import annotations

import marshal
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import bridle
from bridle.surfaces.cli import compiled

PATTERNS = [
    ("a|b", 0),
    (r"(?P<name>[a-z]+)-(?P=name)(\d{2,3})?", 2),
    (rb"[\x00-\x1f]+(?i:header):", 0),
    (r"(?x) [\w.]+ # words", 0),
    (r"(?<![A-Za-z])(?:[Bb]earer|[Bb]asic) \S*\Z", 8),
    ("é[à-ü]", 34),
]
MODULE = """
import collections, dataclasses, re

WORD = re.compile("[a-z]+(?P<digits>[0-9]{2})")
Pair = collections.namedtuple("Pair", "left right", defaults=[2])

@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 3
"""
PROGRAM = """
import marshal, re, sys
from pathlib import Path
from bridle.surfaces.cli.compiled import Compiled

file = Path(sys.argv[1])
known = marshal.loads(file.read_bytes()) if file.exists() else ({}, {})
compiled = Compiled(*known)
compiled.install()
import theirs
from bridle import made
re.compile("[p]roject" + sys.argv[1])  # what is not a module's own
print(compiled.grown, made.WORD.match("ab12")["digits"], made.Pair(1), made.Point(1), end=" ")
print(made.Point(1) < made.Point(2), hash(made.Point(1)) == hash(made.Point(1, 3)))
file.write_bytes(marshal.dumps(compiled.kept()))
"""


@pytest.mark.parametrize(("pattern", "flags"), PATTERNS)
def test_an_expression_is_the_same_from_its_arguments(pattern: str | bytes, flags: int) -> None:
    arguments = marshal.loads(marshal.dumps(compiled._arguments(pattern, flags)))
    made = compiled._engine.compile(*arguments)
    plain = compiled._compile(pattern, flags)
    assert made == plain, "equal expressions have equal code and flags"
    assert made.groupindex == plain.groupindex
    assert made != compiled._compile(pattern, flags ^ 16), "the control: other flags, not equal"


def test_a_module_is_the_same_and_nothing_else_is_kept(tmp_path: Path) -> None:
    library, project = tmp_path / "lib", tmp_path / "project"
    shutil.copytree(Path(bridle.__file__).parent, library / "bridle")
    (library / "bridle" / "made.py").write_text(MODULE)
    project.mkdir()
    (project / "theirs.py").write_text(MODULE.replace("[a-z]+", "[t]heirs"))
    file = tmp_path / "kept"

    def run() -> str:
        command = [sys.executable, "-c", PROGRAM, str(file)]
        env = {"PYTHONPATH": f"{library}:{project}"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return done.stdout

    first, second = run(), run()
    same = "12 Pair(left=1, right=2) Point(x=1, y=3) True True\n"
    assert (first, second) == (f"True {same}", f"False {same}")
    patterns, codes = marshal.loads(file.read_bytes())
    assert any("digits" in str(pattern) for pattern, _ in patterns)
    assert not any("[p]roject" in str(pattern) for pattern, _ in patterns)
    assert not any("[t]heirs" in str(pattern) for pattern, _ in patterns)
    assert {mode for _, mode in codes} == {"exec", "eval"}
    assert all(isinstance(code, types.CodeType) for code in codes.values())
