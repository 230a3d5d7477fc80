"""Every thread that a kernel test leaves in a `.db` file is replayed when the test is over.

Its rows and its ledger must be what its events say, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from bridle import Harness
from support.kernel import check_folds, make_harness, replay_all
from support.stores import check_projections

Opened = Callable[..., Any]


@pytest.fixture(autouse=True)
def replayed(tmp_path: Path) -> Iterator[None]:
    yield
    for path in sorted(tmp_path.glob("**/*.db")):
        check_projections(path)
        anyio.run(check_folds, path)
        for found in anyio.run(replay_all, path):
            assert found.divergence is None, str(found.divergence)
            assert found.equal, f"{found.thread_id}: {found.hash} is not {found.recorded_hash}"


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Open harnesses over one file; they are closed in the end."""
    async with AsyncExitStack() as stack:

        async def make(model: Any, tools: Any = (), **more: Any) -> Harness:
            harness = make_harness(tmp_path / "store.db", model, tools, **more)
            return await stack.enter_async_context(harness)

        yield make
