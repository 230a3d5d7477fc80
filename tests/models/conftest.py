from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bridle.models.http import HttpClient


@pytest.fixture
async def http(anyio_backend: str) -> AsyncIterator[HttpClient]:
    async with HttpClient() as client:
        yield client
