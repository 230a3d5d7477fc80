from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle import Agent, Rules, Workspace
from bridle.testing import ScriptedModel
from support.replaying import model as model
from support.replaying import open_harness


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, a state directory and a git configuration of the test's own."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("BRIDLE_HOME", str(tmp_path / "bridle"))
    for name in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def opened(model: ScriptedModel, root: Path) -> Callable[..., Any]:
    """Open a harness on the workspace; every thread must replay when it closes."""

    def opening(*, tools: Any = (), **options: Any) -> Any:
        options.setdefault("resolve_model", lambda _id: model)
        options.setdefault("workspace", Workspace(root))
        options.setdefault("permissions", Rules(profile="yolo"))
        options.setdefault("agent", Agent("You help.", tools=tools))
        return open_harness(**options)

    return opening


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


def results(events: Any) -> list[Any]:
    """The results of a list of events, in order."""
    return [event for event in events if event.type == "tool_end"]
