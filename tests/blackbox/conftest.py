from __future__ import annotations

from pathlib import Path

import pytest

from support.chat_server import chat_server as chat_server
from support.cli import Bridle


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def bridle(tmp_path: Path, project: Path) -> Bridle:
    home = tmp_path / "home"
    home.mkdir()
    return Bridle(cwd=project, home=home)
