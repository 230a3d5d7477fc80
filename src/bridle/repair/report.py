"""What a repair attempt found, as facts that travel as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

Status = Literal["fixed", "not_fixed", "no_failing_tests", "no_tests", "error"]
Phase = Literal["tests", "trace", "search", "verify", "done"]


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """One exact edit: `old` occurs once in the file and becomes `new`."""

    path: str
    old: str
    new: str


class SuspectLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that runs in failing tests more than in passing ones; `score` is at most 1."""

    path: str
    line: int
    text: str
    score: float


class RepairReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one attempt.

    `fixed` means that every test passed in a fresh process on a clean copy with the patch. The
    project itself is never written to.
    """

    status: Status
    message: str
    patch: tuple[Replacement, ...] = ()
    diff: str = ""
    kinds: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    suspicious: tuple[SuspectLine, ...] = ()
    runner: str = ""
    tests: int = 0
    failed: int = 0
    candidates: int = 0
    tried: int = 0
    seconds: float = 0.0


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where the attempt is; `tried` of `candidates` edits have been evaluated."""

    phase: Phase
    message: str
    tried: int = 0
    candidates: int = 0
    seconds: float = 0.0


OnProgress = Callable[[Progress], None]
