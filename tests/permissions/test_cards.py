"""Cards as a person meets them: hosts of a command, edits in their file, "always" on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle.permissions.calls import facts_of
from bridle.permissions.card import card
from bridle.permissions.evaluate import evaluate
from permissions.support import policy
from support.cli import Bridle
from support.terminal import converse


def made(tool: str, before: str | None = None, **args: Any) -> Any:
    facts = facts_of(tool, args)
    return card(tool, facts, evaluate(tool, facts, policy()), policy(), before=before)


@pytest.mark.parametrize(
    ("command", "hosts"),
    [
        (
            "curl -s https://a.example/x -o y && wget http://b.example:8080/z",
            ("a.example", "b.example"),
        ),
        ("git push ssh://me@c.example/x.git", ("c.example",)),
        ("scp x me@d.example:/tmp; ssh you@e.example ls", ("d.example", "e.example")),
        ("echo $(curl http://[::1]/x)", ("[::1]",)),
        ("bash -c 'curl https://user:pw@f.example'", ("f.example",)),
        ("make test", ()),
        ("git log --author=me@x.example", ()),
    ],
)
def test_a_command_s_card_names_its_hosts(command: str, hosts: tuple[str, ...]) -> None:
    assert made("bash", command=command).hosts == hosts


def test_an_edit_is_shown_where_it_is_in_the_file() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 30))
    diff = made("edit_file", text, path="a.py", old="line 20\n", new="line twenty\n").diff
    assert diff.splitlines()[0] == "@@ -17,7 +17,7 @@"
    assert diff.splitlines()[4:6] == ["-line 20", "+line twenty"]


def test_an_edit_that_is_not_certain_is_shown_as_it_was_given() -> None:
    for text in ("b\nb\n", "", None):
        assert made("edit_file", text, path="a", old="b", new="c").diff.splitlines() == [
            "@@ -1 +1 @@", "-b", "+c",
        ]  # fmt: skip
    everywhere = made("edit_file", "b\nx\nb\n", path="a", old="b", new="c", replace_all=True).diff
    assert everywhere.splitlines()[1:] == ["-b", "+c", " x", "-b", "+c"]


ANSWERS = """\
- calls: [{tool: bash, args: {command: "touch one.txt && curl https://a.example/x"}}]
- calls: [{tool: bash, args: {command: touch two.txt}}]
- calls: [{tool: bash, args: {command: mkdir three}}]
- calls: [{tool: write_file, args: {path: note.txt, content: "after\\n"}}]
- says: finished
"""


def talk(bridle: Bridle, *said: str) -> str:
    """Run on a terminal, answer each approval in turn; what was shown."""
    arguments = ("run", "go", "--model", "scripted/answers.yaml", "--sandbox", "none")
    return converse(bridle, *arguments, question="Run it?", answers=list(said))[1]


def test_the_terminal_shows_the_card_and_what_always_allows(tmp_path: Path) -> None:
    bridle = Bridle(cwd=tmp_path / "project", home=tmp_path / "home")
    for directory in (bridle.cwd, bridle.home):
        directory.mkdir()
    (bridle.cwd / "answers.yaml").write_text(ANSWERS)
    (bridle.cwd / "note.txt").write_text("before\n")
    shown = talk(bridle, "a", "q")
    assert "  | touch one.txt && curl https://a.example/x" in shown
    assert "  hosts: a.example" in shown
    assert "  always: bash(touch:*), bash(curl:*)" in shown
    assert "cannot be undone: files of the workspace can be restored" in shown
    assert (bridle.cwd / "two.txt").exists(), "touch was allowed from then on"
    assert "  | mkdir three" in shown
    assert not (bridle.cwd / "three").exists(), "and nothing else was"


def test_the_terminal_shows_the_change_of_a_file(tmp_path: Path) -> None:
    bridle = Bridle(cwd=tmp_path / "project", home=tmp_path / "home")
    for directory in (bridle.cwd, bridle.home):
        directory.mkdir()
    (bridle.cwd / "answers.yaml").write_text("\n".join(ANSWERS.splitlines()[3:]) + "\n")
    (bridle.cwd / "note.txt").write_text("before\n")
    shown = talk(bridle, "y")
    assert "  | -before\n  | +after" in shown
    assert "  can be undone" in shown
    assert (bridle.cwd / "note.txt").read_text() == "after\n"
