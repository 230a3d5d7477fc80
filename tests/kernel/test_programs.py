"""Programs are found where `shutil.which` finds them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bridle.ports.programs import which


def test_the_first_that_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate(["empty", "text", "folder", "one", "two"]):
        (tmp_path / name).mkdir()
        if number:
            file = tmp_path / name / "prog"
            file.mkdir() if name == "folder" else file.write_text("#!/bin/sh\n")
            if number > 2:
                file.chmod(0o755)
    places = ["missing", "empty", "text", "folder", "one", "two"]
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in places))
    assert which("prog") == shutil.which("prog") == str(tmp_path / "one" / "prog")
    assert which("nothing") is None is shutil.which("nothing")
    there = str(tmp_path / "two" / "prog")
    assert which(there) == shutil.which(there) == there


@pytest.mark.parametrize("name", ["sh", "git", "python3", "no-such-program"])
def test_as_it_is_here(name: str) -> None:
    assert which(name) == shutil.which(name)


def test_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert which("sh") == shutil.which("sh") is not None
