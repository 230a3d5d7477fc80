"""`try_edits`: the one tool of the repair agent."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from bridle.repair.obstacles import missing_module, not_installed
from bridle.repair.patch import replacements, unified
from bridle.repair.probe import ProbeFailed
from bridle.repair.report import OnProgress, RepairReport, Replacement, SuspectLine
from bridle.repair.search import Clock, Found, Search
from bridle.repair.workspace import read_sources
from bridle.sandbox import temps

SHOWN_LINES = 8
SHOWN_TESTS = 20
OFFER = "To see it work on a small sample: bridle fix --sample"


async def try_edits(
    root: str | Path,
    *,
    python: str | None = None,
    time_budget: float = 60.0,
    on_progress: OnProgress | None = None,
    workers: int | None = None,
) -> RepairReport:
    """Look for an edit that makes the project's failing tests pass and breaks no other.

    The project is only read: candidates run on copies that are gone when this returns, and so is
    every process, also when it is cancelled. `python` is the interpreter that runs the tests; by
    default the project's own virtual environment, else this one.
    """
    place = Path(root).resolve()  # noqa: ASYNC240  once, before anything runs
    clock = Clock(budget=time_budget, on_progress=on_progress)
    if not hasattr(os, "fork"):
        return RepairReport(status="error", message="Repair needs a system with fork().")
    if not place.is_dir():
        return RepairReport(status="error", message=f"There is no directory {place}.")
    with temps.directory() as name:
        search = Search(
            original=place,
            scratch=Path(name),
            python=python or own_python(place),
            workers=workers or min(4, os.cpu_count() or 1),
            clock=clock,
        )
        try:
            found = await search.run()
        except ProbeFailed as error:
            return RepairReport(
                status="error",
                message=f"The tests could not be run: {error}",
                seconds=round(clock.spent, 2),
            )
        report = await anyio.to_thread.run_sync(_report, place, found, clock)
    clock.tell("done", report.message, tried=report.tried, of=report.candidates)
    return report


def own_python(root: Path) -> str:
    """The interpreter of the project's virtual environment, else the one that runs this."""
    for name in (".venv", "venv"):
        python = root / name / "bin" / "python"
        if python.exists():
            return str(python)
    return sys.executable


def _report(root: Path, found: Found, clock: Clock) -> RepairReport:
    baseline = found.baseline
    seconds = round(clock.spent, 2)
    if baseline is None or not (baseline.tests or baseline.errors):
        return RepairReport(
            status="no_tests",
            message=f"No tests were found (pytest, unittest). {OFFER}",
            seconds=seconds,
        )
    failing = [*baseline.errors, *baseline.failing]
    counts = {
        "runner": baseline.setup.runner,
        "tests": found.passed or len(baseline.tests),
        "failed": len(failing),
        "candidates": found.candidates,
        "tried": found.tried,
    }
    if not failing:
        message = f"All {len(baseline.tests)} tests pass; there is nothing to fix. {OFFER}"
        return RepairReport(status="no_failing_tests", message=message, seconds=seconds, **counts)  # type: ignore[arg-type]
    patch, diff = _patch(root, found)
    fixed = bool(patch)
    message = f"Fixed: all {found.passed} tests pass with this change."
    if not fixed:
        reason = found.obstacle or f"no edit of {found.tried} tried makes every test pass."
        message = f"Not fixed: {reason}{_also_missing(found)}"
    return RepairReport(
        status="fixed" if fixed else "not_fixed",
        message=message,
        patch=tuple(patch),
        diff=diff,
        kinds=tuple(found.kinds),
        failing=tuple(failing[:SHOWN_TESTS]),
        suspicious=_lines(found),
        seconds=seconds,
        **counts,  # type: ignore[arg-type]
    )


def _also_missing(found: Found) -> str:
    """A module that tests missed while they ran: the likelier cause than any line of code."""
    baseline = found.baseline
    for test in baseline.failing if baseline is not None and not found.obstacle else ():
        assert baseline is not None
        if name := missing_module(baseline.runs[test].message):
            return " " + not_installed(name, where=test, python=baseline.setup.python)
    return ""


def _patch(root: Path, found: Found) -> tuple[list[Replacement], str]:
    patch: list[Replacement] = []
    diffs: list[str] = []
    before = read_sources(root, sorted(found.texts))
    for path, after in sorted(found.texts.items()):
        patch += replacements(path, before[path], after)
        diffs.append(unified(path, before[path], after))
    return patch, "\n".join(diffs)


def _lines(found: Found) -> tuple[SuspectLine, ...]:
    return tuple(
        SuspectLine(
            path=suspect.source.path,
            line=suspect.line,
            text=suspect.source.lines[suspect.line - 1].strip()[:120],
            score=round(suspect.score, 3),
        )
        for suspect in found.suspects[:SHOWN_LINES]
    )
