"""What codebase_search costs at 20,000 files, beside ripgrep looking for the same words.

    python benchmarks/codebase_search.py [FILES]

First: nothing is known of the tree. Again: what was read is kept, and every file is looked at for
changes. Common words are in most files, rare ones in a few.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bridle import Workspace
from bridle.tools.builtin.codebase_search import Search

WORDS = ("get", "set", "file", "name", "user", "parse", "token", "cache", "retry", "delay", "index")
RARE = [f"rare{a}{b}" for a in "abcdefgh" for b in "klmnopqr"]


def main(files: int) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = Path(base)
        size = write_tree(root, files)
        print(f"{files} files, {size / 1e6:.0f} MB")
        place = Workspace(root, sandbox="none").place()
        search = Search(place)
        timed("rare words, first", lambda: search.find("rareak rarehr", base, 10))
        timed("rare words, again", lambda: search.find("rareak rarehr", base, 10))
        timed("common words", lambda: search.find("parse user token", base, 10))
        (root / "src/m1/p1/f1.py").write_text("def brand_new_thing(): ...\n")
        found = timed("one file changed", lambda: search.find("brand new thing", base, 10))
        assert "f1.py:1" in found.split("\n")[0], found
        if program := shutil.which("rg"):
            argv = [program, "-i", "-c", "parse|user|token", base]
            timed(
                "rg -c, the common words", lambda: subprocess.run(argv, stdout=subprocess.DEVNULL)
            )


def write_tree(root: Path, files: int) -> int:
    chance = random.Random(7)
    total = 0
    for number in range(files):
        path = root / f"src/m{number % 40}/p{number % 25}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = []
        for line in range(60):
            names = ["_".join(chance.sample(WORDS, 2)) for _ in range(3)]
            if line == 30 and number % 50 == 0:
                names[0] = chance.choice(RARE)
            start = f"def {names[0]}(" if line % 10 == 0 else f"    {names[0]} = call("
            lines.append(f"{start}{names[1]}, {names[2]})")
        text = "\n".join(lines)
        path.write_text(text)
        total += len(text)
    return total


def timed(name, work):
    cpu, wall = time.process_time(), time.monotonic()
    result = work()
    used = time.process_time() - cpu
    print(f"{name:28} {time.monotonic() - wall:7.2f} s wall {used:7.2f} s cpu")
    return result


main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
