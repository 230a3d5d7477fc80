"""A short run of the campaign in fuzz_streams.py; the long one is a command of its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from support.wires import WIRES

SPEC = importlib.util.spec_from_file_location(
    "fuzz_streams", Path(__file__).with_name("fuzz_streams.py")
)
assert SPEC is not None
assert SPEC.loader is not None
fuzz_streams = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fuzz_streams)

STREAMS = 200


@pytest.mark.parametrize("wire", WIRES)
def test_damaged_streams_end_well(wire: str) -> None:
    outcomes = fuzz_streams.campaign(wire, STREAMS, seed=4)
    assert sum(outcomes.values()) >= STREAMS
    assert outcomes["cut"] > 0
    assert outcomes["answered with calls"] > 0
