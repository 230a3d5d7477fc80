"""What a command does not need is not imported; what it needs later is loaded meanwhile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from support.cli import EXECUTABLE, Bridle

HEAVY = {
    "asyncio",
    "msgspec",
    "yaml",
    "sqlite3",
    "bridle.permissions.shell.reader",
    "bridle.models.http",
    "bridle.repair.model",
    "bridle.surfaces.cli.chat",
    "bridle.surfaces.cli.progress",
}
RUN = ["run", "go", "--model", "scripted/script.yaml", "--sandbox", "none"]
NEEDED: dict[str, tuple[list[str], set[str]]] = {
    "version": (["--version"], set()),
    "help": (["--help"], set()),
    "help of run": (["run", "--help"], {"asyncio", "msgspec", "sqlite3"}),
    "run": (RUN, {"asyncio", "msgspec", "yaml", "sqlite3"}),
    "runs": (["runs"], {"asyncio", "msgspec", "sqlite3"}),
}


def imported(bridle: Bridle, arguments: list[str]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(EXECUTABLE), *arguments],
        cwd=bridle.cwd,
        env=bridle.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize("name", NEEDED)
def test_a_command_imports_what_it_needs(bridle: Bridle, name: str) -> None:
    (bridle.cwd / "harness.yaml").unlink()
    (bridle.cwd / "script.yaml").write_text("- says: hello\n")
    arguments, needed = NEEDED[name]
    assert imported(bridle, arguments) & HEAVY <= needed


def test_a_command_line_is_read_by_what_was_not_loaded_before(bridle: Bridle) -> None:
    """The control: a run that has a command imports the reader of commands."""
    (bridle.cwd / "script.yaml").write_text(
        "- calls: [{tool: bash, args: {command: echo hi}}]\n- says: done\n"
    )
    assert "bridle.permissions.shell.reader" in imported(bridle, RUN)


def test_it_is_loaded_while_the_model_answers(
    bridle: Bridle, chat_server: Callable[[list[Any]], Any]
) -> None:
    (bridle.cwd / "harness.yaml").unlink()
    server = chat_server([{"text": "no command at all", "chunks": 20, "delay": 0.05}])
    bridle.env = server.env
    found = imported(bridle, ["run", "go", "--model", "openai/any", "--sandbox", "none"])
    assert "bridle.permissions.shell.reader" in found
