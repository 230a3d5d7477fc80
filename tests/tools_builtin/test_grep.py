"""The same lines with ripgrep and without, on trees with nested .gitignore files."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from bridle import Workspace
from bridle.ports.tools import CallScope
from bridle.tools.builtin.grep import grep_tool
from bridle.tools.builtin.ignoring import files
from bridle.tools.builtin.searching import required
from tools_builtin.conftest import git

RG = shutil.which("rg")
needs_rg = pytest.mark.skipif(RG is None, reason="ripgrep is not installed; scripts/install-system")
SCOPE = CallScope(thread_id="thr", run_id="run", call_id="run.1.0")

NAMES = ("a", "b", "build", "src", "x.py", "y.py", "z.log", "Ünï.md", ".hidden", "a b")
LINES = (
    "needle here", "Needle there", "  needle", "nothing", "", "straw needle\r", "déjà vu",
    "a.b(c)", "x" * 500 + " needle", "tab\tneedle", "end needle",
)  # fmt: skip
RULES = (
    "*.log", "build", "build/", "/build", "!keep.log", "src/*.py", "**/b", "a/**", "!x.py", "*",
    "!*/", "# comment", "", "x.py ", "\\!odd", "[ab]", "?.py", "src/**/y.py", "/a/", "!src/", "/*",
    "Ünï.md", "!.hidden", "[!x].py", "a/b", "b/", "*.py", "z.*",
)  # fmt: skip
PATTERNS = (
    "needle", "^needle", "needle$", "n.*e", "Needle|straw", r"\bneedle\b", "(?i)NEEDLE", "déjà",
    r"a\.b\(", "^$", r"\s+needle", "(needle) (here|there)", "[^a]eedle", "nothing|x{3}",
    r"(?<!straw )needle", r"needle(?! h)", r"\d",
)  # fmt: skip
GLOBS = (None, "*.py", "*.{py,log}", "src/**", "!*.py", "?.py", "build", "**/*.py", "a*", ".*")

TREES = 60
QUERIES = 4


def build(root: Path, chance: random.Random) -> None:
    """A random tree in which most directories have a .gitignore of their own."""
    places = [root]
    for _ in range(chance.randint(2, 7)):
        place = chance.choice(places) / chance.choice(NAMES[:4] + NAMES[9:])
        place.mkdir(exist_ok=True)
        places.append(place)
    for place in places:
        for name in chance.sample(NAMES[4:9], chance.randint(1, 4)):
            text = "\n".join(chance.choices(LINES, k=chance.randint(0, 4)))
            (place / name).write_bytes((text + chance.choice(["\n", "", "\n\n"])).encode())
        if chance.random() < 0.6:
            rules = chance.sample(RULES, chance.randint(1, 4))
            (place / ".gitignore").write_text("\n".join(rules) + "\n")


async def both(root: Path, **args) -> tuple[str, str]:
    place = Workspace(root, sandbox="none").place()
    with_rg = await grep_tool(place).execute(args, SCOPE)
    without = await grep_tool(place, ripgrep="").execute(args, SCOPE)
    return with_rg.text, without.text


@needs_rg
@pytest.mark.anyio
async def test_the_same_with_and_without_ripgrep(tmp_path: Path):
    found_something = ignored_something = 0
    for seed in range(TREES):
        chance = random.Random(seed)
        root = tmp_path / str(seed)
        root.mkdir()
        build(root, chance)
        below = [path.name for path in root.iterdir() if path.is_dir()]
        for _ in range(QUERIES):
            args = {
                "pattern": chance.choice(PATTERNS),
                "path": chance.choice([".", *below]),
                "ignore_case": chance.random() < 0.3,
                "context": chance.choice([0, 0, 1, 2]),
            }
            glob = chance.choice(GLOBS)
            args |= {} if glob is None else {"glob": glob}
            found, again = await both(root, **args)
            assert found == again, (seed, args)
            found_something += found != "(nothing found)"
        everything = {str(path) for path in root.rglob("*") if path.is_file()}
        ignored_something += set(files(str(root), str(root))) != everything
    assert found_something > TREES * QUERIES * 0.3
    assert ignored_something > TREES * 0.5, "the control: without rules the results differ"


def test_what_is_searched_is_what_git_does_not_ignore(tmp_path: Path):
    for seed in range(TREES):
        root = tmp_path / str(seed)
        root.mkdir()
        git(root, "init", "-q")
        git(root, "config", "core.excludesFile", "/dev/null")
        build(root, random.Random(seed))
        listed = git(root, "ls-files", "-z", "-o", "--exclude-standard").split("\0")
        ours = [path.removeprefix(f"{root}/") for path in files(str(root), str(root))]
        assert sorted(ours) == sorted(name for name in listed if name), seed


@needs_rg
@pytest.mark.anyio
async def test_files_above_the_workspace_hold_in_its_repository(root: Path):
    """And those above the repository do not."""
    (root / ".gitignore").write_text("*.txt\n")
    repository = root / "repo"
    inner = repository / "app" / "deep"
    inner.mkdir(parents=True)
    git(repository, "init", "-q")
    (repository / ".gitignore").write_text("*.log\n")
    for name in ("a.txt", "a.log", "a.py"):
        (inner / name).write_text("needle\n")
    for path in (".", "deep"):
        found, again = await both(repository / "app", pattern="needle", path=path)
        assert found == again
        assert "a.txt" in found
        assert "a.log" not in found
    found, again = await both(inner, pattern="needle", path="a.log")
    assert found == again == "a.log:1:needle"


@needs_rg
@pytest.mark.anyio
async def test_links_and_binaries_are_not_searched(root: Path):
    (root / "real").write_text("needle\n")
    (root / "link").symlink_to("real")
    (root / "loop").symlink_to(".")
    (root / "binary").write_bytes(b"needle\n\0needle\n")
    (root / "wide").write_bytes("needle\n".encode("utf-16"))
    found, again = await both(root, pattern="needle")
    assert found == again == "real:1:needle"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("needle", "needle"), ("^def main", "def main"), ("(abc)d", "abcd"), ("a|b", ""),
        ("x?yz", "yz"), ("(?i)abc", ""), ("ab*cd", "cd"), (r"foo\(bar", "foo(bar"), ("[ab]c", "c"),
        ("(?:ab|cd)ef", "ef"), ("(a)?bc", "bc"), ("", ""),
    ],
)  # fmt: skip
def test_the_text_that_every_match_holds(pattern: str, text: str):
    assert required(pattern) == text
