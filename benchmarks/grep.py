"""What a search of 20,000 files (162 MB) costs without ripgrep, beside ripgrep in the same run.

python benchmarks/grep.py [FILES]
"""

# bench: by name

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bridle.tools.builtin.searching import Query, search

MEGABYTES = 162
RUNS = 5
QUERIES = (
    ("a name that is there 20 times", Query(pattern="needle_in_the_hay")),
    ("a definition", Query(pattern=r"^def needle_\w+\(")),
    ("only Python files", Query(pattern="needle_in_the_hay", glob="*.py")),
    ("whatever the case", Query(pattern="needle_in_the_hay", ignore_case=True)),
)


def make(root: Path, count: int) -> None:
    """A tree like a project: nested directories, some .gitignore files, a few hits."""
    random.seed(1)
    words = [f"word{number}" for number in range(5000)]
    lines = [" ".join(random.choices(words, k=9)) for _ in range(2000)]
    size = MEGABYTES * 1_000_000 // count
    for number in range(count):
        path = root / f"src/m{number % 40}/p{number % 400}/f{number}.{'py' if number % 2 else 'js'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = random.randrange(1000)
        text = "\n".join(lines[start : start + 200])
        text = (text * (size // len(text) + 1))[:size]
        if number % 1000 == 7:
            text += "\ndef needle_in_the_hay():\n    return 1\n"
        path.write_text(text)
    (root / ".gitignore").write_text("*.log\nbuild/\nnode_modules/\n/dist\n*.py[co]\n")
    for number in range(0, 40, 4):
        (root / f"src/m{number}/.gitignore").write_text("tmp*\n!tmp.keep\n/p1/local/**\n")


def ours(root: str, query: Query) -> tuple[float, int]:
    began = time.process_time()
    found = len(list(search(root, root, query)))
    return time.process_time() - began, found


def ripgrep(program: str, root: str, query: Query) -> tuple[float, int]:
    argv = [program, "--no-config", "--hidden", "--no-require-git", "--sort=path", "--line-number"]
    argv += ["--ignore-case"] if query.ignore_case else []
    argv += [f"--type-add=w:{query.glob}", "--type=w"] if query.glob else []
    before = os.times()
    done = subprocess.run(
        [*argv, "--regexp", query.pattern, "--", "."], cwd=root, capture_output=True, check=True
    )
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system, done.stdout.count(b"\n")


def main(count: int) -> None:
    program = shutil.which("rg")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as base:
        root = os.path.realpath(base)
        make(Path(root), count)
        print(f"{count:,} files, {MEGABYTES} MB; CPU ms, the best of {RUNS}")
        for name, query in QUERIES:
            own, hits = min(ours(root, query) for _ in range(RUNS))
            line = f"{name:32} without rg {own * 1000:6.0f}"
            if program is not None:
                other, same = min(ripgrep(program, root, query) for _ in range(RUNS))
                if hits != same:
                    raise SystemExit(f"{name}: {hits} lines here, {same} by ripgrep")
                line += f"   rg {other * 1000:6.0f}   ratio {own / other:5.2f}"
            print(f"{line}   {hits} lines")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20000)
