"""The same lines with ripgrep and without, on trees with nested .gitignore files."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridle import Workspace
from bridle.ports.tools import CallScope
from bridle.tools.builtin.grep import grep_tool
from bridle.tools.builtin.ignoring import files
from bridle.tools.builtin.searching import required
from tests.tools_builtin.conftest import git

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

directories = st.lists(st.sampled_from(NAMES[:4] + NAMES[9:]), max_size=3).map("/".join)
texts = st.lists(st.sampled_from(LINES), max_size=5).map("\n".join)
endings = st.sampled_from(["\n", "", "\n\n"])
trees = st.lists(
    st.tuples(directories, st.sampled_from(NAMES[4:]), texts, endings), min_size=1, max_size=10
)
ignores = st.lists(st.tuples(directories, st.lists(st.sampled_from(RULES), max_size=4)), max_size=4)


def build(root: Path, tree, rules) -> None:
    for directory, name, text, ending in tree:
        path = root / directory / name
        if path.is_dir() or any(parent.is_file() for parent in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((text + ending).encode())
    for directory, lines in rules:
        place = root / directory
        if place.is_dir():
            (place / ".gitignore").write_text("\n".join(lines) + "\n")


async def both(root: Path, **args) -> tuple[str, str]:
    place = Workspace(root, sandbox="none").place()
    with_rg = await grep_tool(place).execute(args, SCOPE)
    without = await grep_tool(place, ripgrep="").execute(args, SCOPE)
    return with_rg.text, without.text


@needs_rg
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    trees, ignores, st.sampled_from(PATTERNS), st.sampled_from(GLOBS), st.booleans(),
    st.integers(0, 2), st.sampled_from([".", "src", "a"]),
)  # fmt: skip
def test_the_same_with_and_without_ripgrep(tree, rules, pattern, glob, ignore_case, context, path):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        build(root, tree, rules)
        (root / path).mkdir(exist_ok=True) if not (root / path).exists() else None
        if (root / path).is_dir():
            args = {"pattern": pattern, "path": path, "ignore_case": ignore_case}
            args |= {"context": context} | ({"glob": glob} if glob else {})
            found, again = anyio.run(lambda: both(root, **args))
            assert found == again


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees, ignores)
def test_what_is_searched_is_what_git_does_not_ignore(tree, rules):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        git(root, "init", "-q")
        git(root, "config", "core.excludesFile", "/dev/null")
        build(root, tree, rules)
        listed = git(root, "ls-files", "-z", "-o", "--exclude-standard").split("\0")
        ours = [path.removeprefix(f"{root}/") for path in files(str(root), str(root))]
        assert sorted(ours) == sorted(name for name in listed if name)


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
