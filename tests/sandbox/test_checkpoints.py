"""Snapshots and undo, with real git on real trees."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridle.errors import ToolError
from bridle.sandbox import index
from bridle.sandbox.checkpoints import Checkpoints
from bridle.sandbox.supervisor import Supervisor
from sandbox.helpers import git

pytestmark = pytest.mark.anyio


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def over(root: Path, state: Path) -> Checkpoints:
    return Checkpoints(str(root), state=str(state), processes=Supervisor())


def content(root: Path) -> dict[str, object]:
    """Everything below a directory, without .git."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name == ".git" or name.startswith(".git/"):
            continue
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = (path.read_bytes(), path.stat().st_mode & 0o111)
    return found


def fingerprint(root: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((root / ".git").rglob("*"))
        if path.is_file()
    }


@pytest.fixture(params=["repository", "plain", "subdirectory", "worktree"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    base = tmp_path / "base"
    base.mkdir()
    if request.param == "plain":
        return base
    git(base, "init", "-q")
    (base / ".gitignore").write_text("ignored/\n*.log\n")
    (base / "elsewhere").write_text("1")
    git(base, "add", ".")
    git(base, "commit", "-q", "-m", "first")
    if request.param == "subdirectory":
        (base / "sub").mkdir()
        return base / "sub"
    if request.param == "worktree":
        git(base, "worktree", "add", "-q", str(tmp_path / "tree"))
        return tmp_path / "tree"
    return base


def fill(root: Path) -> None:
    (root / "keep").write_text("keep\n")
    (root / "edit").write_text("".join(f"line {n}\n" for n in range(20)))
    (root / "gone").write_text("gone\n")
    (root / "dir/inner").mkdir(parents=True)
    (root / "dir/inner/x").write_bytes(b"\0\1\2\xff")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "link").symlink_to("keep")
    (root / "was_file").write_text("f")
    (root / "was_dir").mkdir()
    (root / "was_dir/y").write_text("y")
    (root / "was_link").symlink_to("dir")
    (root / "to_link/a").mkdir(parents=True)
    (root / "to_link/a/w").write_text("w")
    (root / "spaced ä\n name").write_text("odd")


def mangle(root: Path) -> None:
    text = (root / "edit").read_text()
    (root / "edit").write_text(text.replace("line 3\n", "line three\n"))
    (root / "gone").unlink()
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/z").write_text("z")
    shutil.rmtree(root / "dir")
    (root / "run.sh").chmod(0o755)
    (root / "link").unlink()
    (root / "link").symlink_to("edit")
    (root / "was_file").unlink()
    (root / "was_file").mkdir()
    (root / "was_file/inside").write_text("i")
    shutil.rmtree(root / "was_dir")
    (root / "was_dir").write_text("now a file")
    (root / "was_link").unlink()
    (root / "was_link/b").mkdir(parents=True)
    (root / "was_link/b/v").write_text("v")
    (root / "to_link").rename(root / "linked")
    (root / "to_link").symlink_to("linked")
    (root / "spaced ä\n name").write_text("even")


async def test_undo_and_redo_bring_back_every_byte(root: Path, state: Path) -> None:
    fill(root)
    points = over(root, state)
    start = content(root)
    before = await points.snapshot()
    mangle(root)
    changed = content(root)
    after = await points.snapshot()
    assert {change.path for change in await points.diff(before, after)} == {
        "edit", "gone", "new/deep/z", "dir/inner/x", "run.sh", "link", "was_file",
        "was_file/inside", "was_dir", "was_dir/y", "spaced ä\n name", "was_link", "was_link/b/v",
        "to_link", "to_link/a/w", "linked/a/w",
    }  # fmt: skip
    undone = await points.restore(after, before)
    assert undone.conflicts == ()
    assert content(root) == start
    assert not (root / "new").exists()
    assert await points.snapshot() == before
    redone = await points.restore(before, after)
    assert redone.conflicts == ()
    assert content(root) == changed
    assert await points.snapshot() == after
    assert (await points.restore(after, before)).conflicts == ()
    assert content(root) == start


async def test_the_users_repository_is_not_touched(repository: Path, state: Path) -> None:
    fill(repository)
    git(repository, "add", "keep")
    seen = fingerprint(repository)
    points = over(repository, state)
    before = await points.snapshot()
    mangle(repository)
    await points.restore(await points.snapshot(), before)
    assert fingerprint(repository) == seen
    status = git(repository, "status", "--porcelain", "keep")
    assert status == "A  keep\n"


async def test_later_edits_are_merged_or_kept(root: Path, state: Path) -> None:
    fill(root)
    points = over(root, state)
    before = await points.snapshot()
    mangle(root)
    (root / "keep").write_text("tool\n")
    after = await points.snapshot()
    (root / "edit").write_text((root / "edit").read_text().replace("line 15", "line fifteen"))
    (root / "keep").write_text("tool\nthen the user\n")
    (root / "new/deep/z").write_text("the user's now")
    (root / "mine").write_text("untouched by the tool")
    undone = await points.restore(after, before)
    assert undone.merged == ("edit",)
    text = (root / "edit").read_text()
    assert "line 3\n" in text
    assert "line fifteen" in text
    conflicts = {conflict.path: conflict.why for conflict in undone.conflicts}
    assert conflicts.keys() == {"keep", "new/deep/z"}
    assert "edited since" in conflicts["keep"]
    assert (root / "keep").read_text() == "tool\nthen the user\n"
    assert (root / "new/deep/z").read_text() == "the user's now"
    assert (root / "mine").read_text() == "untouched by the tool"
    assert (root / "gone").exists()


async def test_a_later_change_of_the_mode_is_kept(root: Path, state: Path) -> None:
    """The user makes a script of what the tool wrote; the control is a mode that the tool set."""
    points = over(root, state)
    for name in ("text", "binary", "tool"):
        (root / name).write_bytes(b"1\n" if name != "binary" else b"\0\1")
    before = await points.snapshot()
    for name in ("text", "binary", "tool"):
        (root / name).write_bytes(b"1\n2\n3\n4\n" if name != "binary" else b"\0\2")
    (root / "tool").chmod(0o755)
    after = await points.snapshot()
    for name in ("text", "binary"):
        (root / name).chmod(0o755)
    undone = await points.restore(after, before)
    assert undone.conflicts == ()
    found = {
        name: ((root / name).read_bytes(), bool((root / name).stat().st_mode & 0o100))
        for name in ("text", "binary", "tool")
    }
    assert found == {"text": (b"1\n", True), "binary": (b"\0\1", True), "tool": (b"1\n", False)}


async def test_edits_between_two_runs_are_not_undone(root: Path, state: Path) -> None:
    points = over(root, state)
    (root / "a").write_text("1")
    before = await points.snapshot()
    (root / "a").write_text("2")
    after = await points.snapshot()
    (root / "b").write_text("user")
    await points.snapshot()
    await points.restore(after, before)
    assert ((root / "a").read_text(), (root / "b").read_text()) == ("1", "user")


async def test_what_is_ignored_is_told_and_left(repository: Path, state: Path) -> None:
    (repository / ".gitignore").write_text("build/\n*.log\n")
    (repository / ".git/info/exclude").write_text("private\n")
    (repository / "build").mkdir()
    (repository / "build/out").write_text("1")
    (repository / "x.log").write_text("1")
    (repository / "private").write_text("1")
    nested = repository / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "n").write_text("1")
    (repository / "big").write_bytes(b"")
    os.truncate(repository / "big", index.MAX_FILE + 1)
    points = over(repository, state)
    before = await points.snapshot()
    (repository / "build/out").write_text("2")
    (repository / "tracked.txt").write_text("2")
    (nested / "n").write_text("2")
    await points.restore(await points.snapshot(), before)
    assert (repository / "build/out").read_text() == "2"
    assert (repository / "tracked.txt").read_text() == "one\n"
    assert (nested / "n").read_text() == "2"
    uncovered = await points.uncovered()
    assert set(uncovered) == {"build/", "x.log", "private", "nested/", "big"}


async def test_a_workspace_that_is_too_large_is_refused(
    workspace: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_FILES", 3)
    for number in range(5):
        (workspace / str(number)).write_text("x")
    with pytest.raises(ToolError, match="too large to snapshot: 5 new files"):
        await over(workspace, state).snapshot()


@pytest.mark.parametrize(
    "attributes",
    ["* text=auto eol=crlf\n", "* text\n", "* filter=rot\n", "*.txt ident\n", "* filter=lfs\n"],
)
async def test_bytes_are_kept_whatever_attributes_say(
    repository: Path, state: Path, attributes: str
) -> None:
    git(repository, "config", "filter.rot.clean", "tr a-z n-za-m")
    git(repository, "config", "filter.rot.smudge", "tr a-z n-za-m")
    git(repository, "config", "filter.lfs.clean", "sh -c 'echo pointer'")
    (repository / ".gitattributes").write_text(attributes)
    (repository / "a.txt").write_bytes(b"one\r\ntwo $Id$\r\n")
    (repository / "b.txt").write_bytes(b"one\ntwo\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    start = content(repository)
    points = over(repository, state)
    before = await points.snapshot()
    (repository / "a.txt").write_bytes(b"other")
    (repository / "b.txt").unlink()
    undone = await points.restore(await points.snapshot(), before)
    assert undone.conflicts == ()
    assert content(repository) == start


async def test_a_hostile_repository_runs_nothing(repository: Path, state: Path) -> None:
    """T05: file monitor, filters, hooks, external diff, pager; also in a nested repository."""
    marker = repository.parent / "marker"
    command = f"touch {marker}; cat"
    nested = repository / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    bare = repository / "bare"
    git(repository, "init", "-q", "--bare", str(bare))
    for place in (repository, nested):
        for key in (
            "core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
            "diff.external", "core.pager", "core.sshCommand", "merge.evil.driver", "core.editor",
        ):  # fmt: skip
            git(place, "config", key, command)
        hooks = place / ".git/hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("pre-commit", "post-index-change", "post-checkout", "fsmonitor-watchman"):
            (hooks / name).write_text(f"#!/bin/sh\n{command}\n")
            (hooks / name).chmod(0o755)
    git(bare, "config", "core.fsmonitor", command)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    points = over(repository, state)
    before = await points.snapshot()
    (repository / "tracked.txt").write_text("a\n\nb\n")
    (nested / "x").write_text("x")
    after = await points.snapshot()
    (repository / "tracked.txt").write_text("a\n\nb\nc\n")
    await points.restore(after, before)
    await points.uncovered()
    inside = over(bare, state)
    (bare / "new").write_text("x")
    await inside.snapshot()
    assert not marker.exists()


async def test_a_repository_that_points_elsewhere_is_not_believed(
    repository: Path, state: Path, tmp_path: Path
) -> None:
    """T04"""
    victim = tmp_path / "victim"
    victim.mkdir()
    git(victim, "init", "-q")
    (victim / "secret").write_text("s")
    git(victim, "add", ".")
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: {victim}/.git\n")
    assert over(hostile, state).repository.source.objects == ""
    (repository / ".git/commondir").write_text(f"{victim}/.git\n")
    assert over(repository, state).repository.source.objects == ""


async def test_variables_of_git_have_no_effect(
    repository: Path, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = fingerprint(repository)
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repository / ".git/index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(repository / ".git/objects"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {tmp_path}/marker")
    points = over(repository, state)
    before = await points.snapshot()
    (repository / "tracked.txt").write_text("2")
    await points.restore(await points.snapshot(), before)
    assert (repository / "tracked.txt").read_text() == "one\n"
    monkeypatch.undo()
    assert fingerprint(repository) == seen
    assert not (tmp_path / "marker").exists()


async def test_tools_save_only_what_they_touch(root: Path, state: Path) -> None:
    fill(root)
    points = over(root, state)
    paths = ["edit", str(root / "made/here"), "link", "gone"]
    before = await points.save_paths(paths)
    (root / "edit").write_text("x")
    (root / "made").mkdir()
    (root / "made/here").write_text("x")
    (root / "link").write_text("through the link")
    (root / "gone").unlink()
    (root / "other").write_text("not saved")
    after = await points.save_paths(paths)
    undone = await points.restore(after, before)
    assert set(undone.restored) == {"edit", "made/here", "keep", "gone"}
    assert (root / "keep").read_text() == "keep\n"
    assert (root / "other").exists()
    assert not (root / "made").exists()


async def test_saved_paths_never_reach_outside(workspace: Path, state: Path) -> None:
    secret = workspace.parent / "secret"
    secret.write_text("s")
    (workspace / "out").symlink_to(secret)
    points = over(workspace, state)
    before = await points.save_paths(["out", str(secret), "../secret"])
    after = await points.save_paths([])
    assert [change.path for change in await points.diff(after, before)] == ["out"]


async def test_restoring_does_not_follow_a_directory_that_became_a_link(
    workspace: Path, state: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / "d").mkdir()
    (workspace / "d/f").write_text("1")
    (workspace / "e").mkdir()
    points = over(workspace, state)
    before = await points.snapshot()
    (workspace / "d/f").write_text("2")
    after = await points.snapshot()
    for target in (outside, Path("e")):
        shutil.rmtree(workspace / "d") if (workspace / "d").is_dir() and not (
            workspace / "d"
        ).is_symlink() else (workspace / "d").unlink()
        (workspace / "d").symlink_to(target)
        undone = await points.restore(after, before)
        assert [conflict.path for conflict in undone.conflicts] == ["d/f"]
        assert list(outside.iterdir()) == []
        assert list((workspace / "e").iterdir()) == []


async def test_a_killed_git_and_a_broken_index_are_survived(repository: Path, state: Path) -> None:
    points = over(repository, state)
    before = await points.snapshot()
    index = Path(points.repository.index)
    index.with_name("index.lock").write_text("")
    (repository / "tracked.txt").write_text("2")
    after = await points.snapshot()
    assert before != after
    index.write_bytes(b"garbage")
    assert await points.snapshot() == after


async def test_two_processes_share_a_store(repository: Path, state: Path) -> None:
    trees: list[str] = []

    async def take() -> None:
        trees.append(await over(repository, state).snapshot())

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(take)
    assert len(set(trees)) == 1


async def test_a_checkout_and_a_merge_conflict_are_no_problem(
    repository: Path, state: Path
) -> None:
    points = over(repository, state)
    first = await points.snapshot()
    git(repository, "checkout", "-q", "-b", "other")
    (repository / "tracked.txt").write_text("theirs\n")
    git(repository, "commit", "-q", "-a", "-m", "theirs")
    git(repository, "checkout", "-q", "-")
    (repository / "tracked.txt").write_text("ours\n")
    git(repository, "commit", "-q", "-a", "-m", "ours")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    subprocess.run(["git", *identity, "merge", "-q", "other"], cwd=repository, check=False)
    assert git(repository, "ls-files", "-u")
    second = await over(repository, state / "fresh").snapshot()
    after = await points.snapshot()
    assert after == second
    assert [change.path for change in await points.diff(first, after)] == ["tracked.txt"]


async def test_the_store_is_private(repository: Path, state: Path) -> None:
    points = over(repository, state)
    await points.snapshot()
    assert Path(points.repository.directory).stat().st_mode & 0o077 == 0


NAMES = st.sampled_from(["a", "b", "c", "d/a", "d/b", "d/e/a", "e"])
OPERATIONS = st.tuples(
    st.sampled_from(["write", "delete", "link", "program"]), NAMES, st.binary(max_size=20)
)


def perform(root: Path, operation: str, name: str, data: bytes) -> None:
    path = root / name
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        if operation != "write":
            path.unlink(missing_ok=True)
        if operation == "delete":
            return
        for parent in list(path.relative_to(root).parents)[::-1][1:]:
            if (root / parent).is_file() or (root / parent).is_symlink():
                (root / parent).unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        if operation == "link":
            path.symlink_to(data.hex() or "x")
        else:
            if path.is_symlink():
                path.unlink()
            path.write_bytes(data)
            path.chmod(0o755 if operation == "program" else 0o644)
    except NotADirectoryError:
        return


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=st.lists(OPERATIONS, max_size=8), second=st.lists(OPERATIONS, max_size=8))
def test_any_change_can_be_taken_back(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[str, str, bytes]],
    second: list[tuple[str, str, bytes]],
) -> None:
    base = tmp_path_factory.mktemp("any")
    root = base / "root"
    root.mkdir()

    async def scenario() -> None:
        points = over(root, base / "state")
        for step in first:
            perform(root, *step)
        start = content(root)
        before = await points.snapshot()
        for step in second:
            perform(root, *step)
        end = content(root)
        after = await points.snapshot()
        assert (await points.restore(after, before)).conflicts == ()
        assert content(root) == start
        assert (await points.restore(before, after)).conflicts == ()
        assert content(root) == end

    anyio.run(scenario)


async def test_a_snapshot_never_holds_its_own_store(root: Path) -> None:
    state = root / "our [state]" / "b*"
    points = over(root, state)
    (root / "a.txt").write_text("one")
    before = await points.snapshot()
    (state / "bridle.db").write_text("ours")
    (root / "a.txt").write_text("two")
    after = await points.snapshot()
    assert [change.path for change in await points.diff(before, after)] == ["a.txt"]
    assert await points.snapshot() == after  # taking it changed nothing
