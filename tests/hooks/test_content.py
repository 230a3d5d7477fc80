"""Which files of a project a hook names: all of them are trusted by their content."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle import Hook
from bridle.hooks.content import ABSENT, changed_content, content_of, with_content
from bridle.hooks.define import bind


def named(root: Path, command: str) -> set[str]:
    hook = Hook(event="PreToolUse", command=command)
    return set(content_of(bind(hook, 0, layer="project", root=root.resolve())))


@pytest.mark.parametrize(
    "command",
    [
        "tools/guard.sh",
        "./tools/guard.sh --strict",
        "sh tools/guard.sh",
        '"$CLAUDE_PROJECT_DIR"/tools/guard.sh',
        '"${CLAUDE_PROJECT_DIR}/tools/guard.sh" x',
        "$BRIDLE_PROJECT_DIR/tools/guard.sh",
        "bash -c 'tools/guard.sh | tee log'",
        "cat x | python3 tools/guard.sh&& true",
        "cd tools && ./guard.sh",
        "env A=1 sh <tools/guard.sh",
        "timeout 5 tools/guard.sh",
        'sh -c "$(cat tools/guard.sh)"',
        "tools/with\\ space/guard.sh; tools/guard.sh",
    ],
)
def test_a_named_script_is_found(tmp_path: Path, command: str) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "guard.sh").write_text("exit 0")
    assert "tools/guard.sh" in named(tmp_path, command)


@pytest.mark.parametrize("command", ["sh guard", ". ./guard", "python3 guard", "/bin/sh guard"])
def test_what_an_interpreter_is_given_is_run_whatever_its_name(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "guard").write_text("exit 0")
    assert named(tmp_path, command) == {"guard"}


def test_a_name_with_spaces_and_a_link(tmp_path: Path) -> None:
    (tmp_path / "my guard.sh").write_text("exit 0")
    (tmp_path / "link.sh").symlink_to(tmp_path / "my guard.sh")
    assert "my guard.sh" in named(tmp_path, "'my guard.sh'")
    assert named(tmp_path, "./link.sh") == {"my guard.sh"}
    hook = Hook(event="PreToolUse", command="./link.sh")
    bound = with_content(bind(hook, 0, layer="project", root=tmp_path.resolve()))
    (tmp_path / "other.sh").write_text("exit 0")
    (tmp_path / "link.sh").unlink()
    (tmp_path / "link.sh").symlink_to(tmp_path / "other.sh")
    assert changed_content(bound) is not None


@pytest.mark.parametrize(
    "command",
    [
        "cat > told.json",
        "cat >> hooks/log; exit 0",
        "tee -a told.json < /dev/null",
        "test -e begun || touch begun",
        "sqlite3 data.db 'select 1'",
        "echo 2>errors.txt",
    ],
)
def test_what_a_hook_writes_is_not_what_it_runs(tmp_path: Path, command: str) -> None:
    (tmp_path / "hooks").mkdir()
    before = named(tmp_path, command)
    for name in ("told.json", "hooks/log", "begun", "data.db", "errors.txt"):
        (tmp_path / name).write_text("x")
    assert named(tmp_path, command) == before


def test_what_is_outside_is_not_the_project_s(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "own.sh").write_text("exit 0")
    assert named(root, f"{tmp_path}/own.sh ../own.sh /bin/sh") == set()


def test_a_file_that_appears_or_changes_is_noticed(tmp_path: Path) -> None:
    hook = Hook(event="PreToolUse", command="$CLAUDE_PROJECT_DIR/guard.sh")
    bound = with_content(bind(hook, 0, layer="project", root=tmp_path.resolve()))
    assert bound.content == {"guard.sh": ABSENT}
    assert changed_content(bound) is None
    (tmp_path / "guard.sh").write_text("exit 0")
    assert changed_content(bound) == "guard.sh"
    bound = with_content(bound)
    assert changed_content(bound) is None
    (tmp_path / "guard.sh").unlink()
    assert changed_content(bound) == "guard.sh"
