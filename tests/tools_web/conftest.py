from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bridle import Agent
from bridle.testing import ScriptedModel
from support.hostile import HostileServer
from support.replaying import model as model
from support.replaying import open_harness


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as hostile:
        yield hostile


@pytest.fixture
def opened(model: ScriptedModel) -> Callable[..., Any]:
    """Open a harness over a scripted model; every thread must replay when it closes."""

    def opening(*tools: Any, **options: Any) -> Any:
        options.setdefault("resolve_model", lambda _id: model)
        options.setdefault("agent", Agent("You help.", tools=tools))
        return open_harness(**options)

    return opening
