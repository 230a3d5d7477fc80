from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import Harness, Rules, tool
from bridle.testing import ScriptedModel
from support.cli import Bridle
from support.kernel import check_folds
from support.replaying import model as model
from support.replaying import open_harness
from support.stores import check_projections

RUN: list[str] = []


@tool(category="execute")
def act(what: str) -> str:
    """Do something."""
    RUN.append(what)
    return f"did {what}"


@tool(category="read", read_only=True, concurrency_safe=True)
def look(what: str) -> str:
    """Look at something."""
    RUN.append(f"look {what}")
    return f"saw {what}"


@tool(category="execute")
def fail() -> str:
    """Fail."""
    raise ValueError("broken")


@pytest.fixture(autouse=True)
def folded(tmp_path: Path) -> Iterator[None]:
    """The rows and the shared fold of every thread must be what its events say."""
    yield
    for path in tmp_path.glob("hooks.db"):
        check_projections(path)
        anyio.run(check_folds, path)


@pytest.fixture
def acted() -> list[str]:
    """What the tools really did."""
    RUN.clear()
    return RUN


@pytest.fixture
def opened(model: ScriptedModel, acted: list[str], tmp_path: Path) -> Callable[..., Any]:
    """Open a harness with hooks; every thread must replay when it closes, and no hook runs then."""

    @asynccontextmanager
    async def opening(*hooks: Any, **options: Any) -> AsyncIterator[Harness]:
        options.setdefault("store", f"sqlite:///{tmp_path / 'hooks.db'}")
        options.setdefault("resolve_model", lambda _id: model)
        options.setdefault("permissions", Rules(profile="yolo"))
        options.setdefault("tools", [act, look, fail])
        async with open_harness(hooks=hooks, **options) as harness:
            yield harness
            done = list(acted)
        assert acted == done

    return opening


@pytest.fixture
def project(tmp_path: Path) -> Bridle:
    """A project directory and the executable in it."""
    cwd, home = tmp_path / "project", tmp_path / "home"
    cwd.mkdir()
    home.mkdir()
    return Bridle(cwd=cwd, home=home)
