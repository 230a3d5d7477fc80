"""Run the project's own tests: which fail, why, how long they take and which lines they run."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from bridle.repair.probe import Answer, Job, Probe, ProbeFailed, Runner, Setup, open_probe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

Lines = dict[str, set[int]]
FIRST_LIMIT = 4.0
HUNG_AT_MOST = 3
TRACED_FAILING = 30
TRACE_FACTOR = 12.0


@dataclass(slots=True, kw_only=True)
class TestRun:
    """How one test ended; `frames` are its places in the project, the deepest last."""

    outcome: str
    seconds: float = 0.0
    message: str = ""
    frames: list[tuple[str, int]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Passed, or skipped by its own wish."""
        return self.outcome in {"passed", "skipped"}


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one job showed; `unpatchable` asks for a fresh import instead."""

    runs: dict[str, TestRun] = field(default_factory=dict)
    coverage: dict[str, Lines] = field(default_factory=dict)
    unpatchable: bool = False
    complete: bool = False
    hung: str | None = None

    @property
    def failed(self) -> list[str]:
        """The tests that did not pass."""
        return [test for test, run in self.runs.items() if not run.ok]


@dataclass(slots=True, kw_only=True)
class Baseline:
    """The suite as it stands: the targets must pass, and nothing else may stop passing."""

    setup: Setup
    tests: list[str]
    runs: dict[str, TestRun]
    errors: dict[str, TestRun]
    coverage: dict[str, Lines] = field(default_factory=dict)
    import_lines: Lines = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    traced_all: bool = False

    @property
    def failing(self) -> list[str]:
        """Tests that ran and failed, the quickest first; endless ones last."""
        bad = [test for test, run in self.runs.items() if not run.ok]
        return sorted(
            bad, key=lambda t: (self.runs[t].outcome != "failed", round(self.runs[t].seconds, 2))
        )

    @property
    def passing(self) -> list[str]:
        """Tests that are not known to fail."""
        return [t for t in self.tests if t not in self.runs or self.runs[t].ok]

    def holds_tests(self, path: str) -> bool:
        """Tell a file that tests were collected from, whatever it is called.

        A doctest is named by the module it stands in: such a file is code under test.
        """
        stem = path.rpartition("/")[2].removesuffix(".py")
        dotted = "." + path.removesuffix(".py").replace("/", ".")
        for test in self.tests:
            file, _, name = test.partition("::")
            if file == path and "." not in name and name != stem:
                return True
            if not name and dotted.endswith("." + ".".join(test.split(".")[:-2])):
                return True
        return False

    @property
    def suite_seconds(self) -> float:
        """How long the suite takes."""
        return sum(run.seconds for run in self.runs.values() if run.outcome != "timeout")

    def limits(self, *, factor: float = 5.0, least: float = 0.4) -> dict[str, float]:
        """CPU seconds that each test may take, from what it took."""
        return {
            test: max(least, factor * run.seconds + 0.3)
            for test, run in self.runs.items()
            if run.outcome != "timeout"
        }


def read_answer(answer: Answer) -> Outcome:
    """Fold a child's facts; a test that began and did not end counts as failed."""
    found = Outcome()
    open_test: str | None = None
    for fact in answer.facts:
        match fact:
            case ["s", str(test), *_]:
                open_test = test
            case ["e", str(test), str(outcome), seconds, detail]:
                open_test = None if test == open_test else open_test
                found.runs[test] = _merged(found.runs.get(test), outcome, float(seconds), detail)
                if outcome == "timeout":
                    found.hung = test
            case ["c", str(test), lines]:
                found.coverage[test] = {path: set(numbers) for path, numbers in lines.items()}
            case ["u", *_]:
                found.unpatchable = True
            case ["d"]:
                found.complete = True
            case _:
                pass
    if open_test is not None:
        found.runs[open_test] = TestRun(
            outcome="timeout", seconds=FIRST_LIMIT, message="time limit"
        )
        found.hung = open_test
    return found


def _merged(known: TestRun | None, outcome: str, seconds: float, detail: Any) -> TestRun:
    run = TestRun(outcome=outcome, seconds=seconds)
    if isinstance(detail, dict):
        run.message = str(detail.get("message", ""))
        run.frames = [(str(path), int(line)) for path, line in detail.get("frames", [])]
    return run if known is None or known.ok else known


@asynccontextmanager
async def open_suite(setup: Setup) -> AsyncIterator[tuple[Probe, Setup]]:
    """Open a probe with the first way of collecting that finds tests.

    pytest as configured, pytest without its configured options (a plugin may be missing), then
    unittest. Raises ProbeFailed when none of them starts.
    """
    problem = "no test runner"
    ways: list[tuple[Runner, tuple[str, ...]]] = [
        ("pytest", ()),
        ("pytest", ("-o", "addopts=")),
        ("unittest", ()),
    ]
    for runner, args in ways:
        attempt = replace(setup, runner=runner, args=(*args, *setup.args))
        last = (runner, args) == ways[-1]
        opened = False
        try:
            async with open_probe(attempt) as probe:
                if probe.hello.tests or probe.hello.errors or last:
                    opened = True
                    yield probe, attempt
                    return
        except ProbeFailed as error:
            if opened:
                raise
            problem = str(error)
    raise ProbeFailed(problem)


async def run_all(
    probe: Probe, tests: Sequence[str], *, trace: bool = False, limit: float = FIRST_LIMIT
) -> Outcome:
    """Run tests to the end of the list, going round those that hang or kill their process."""
    left = list(tests)
    whole = Outcome(complete=True)
    hung = 0
    while left:
        outcome = read_answer(
            await probe.run(Job(tests=left, stop=False, trace=trace, limit=limit))
        )
        whole.runs.update(outcome.runs)
        whole.coverage.update(outcome.coverage)
        if outcome.complete:
            break
        hung += 1
        rest = [test for test in left if test not in outcome.runs]
        if hung >= HUNG_AT_MOST or len(rest) == len(left):
            whole.complete = False
            break
        slowest = max((r.seconds for r in whole.runs.values() if r.ok), default=0.2)
        limit = min(limit, max(1.0, 3 * slowest))
        left = rest
    return whole


async def measure(probe: Probe, setup: Setup) -> Baseline:
    """Run the whole suite once, as it stands."""
    hello = probe.hello
    outcome = await run_all(probe, hello.tests)
    errors = {
        name: TestRun(outcome="failed", message=text, frames=hello.error_frames.get(name, []))
        for name, text in hello.errors.items()
    }
    for name in errors:
        outcome.runs.pop(name, None)
    return Baseline(
        setup=setup,
        tests=[t for t in hello.tests if t not in errors],
        runs=outcome.runs,
        errors=errors,
        import_lines={path: set(lines) for path, lines in hello.import_lines.items()},
        modules=hello.modules,
    )


async def trace(probe: Probe, baseline: Baseline, *, budget: float, workers: int) -> None:
    """Add line coverage: every failing test, then as many passing ones as the budget allows.

    A failing test that passes here is flaky and stops being a target.
    """
    chosen = baseline.failing[:TRACED_FAILING]
    ended = [baseline.runs[t] for t in chosen if baseline.runs[t].outcome != "timeout"]
    slow = max((run.seconds for run in ended), default=0.1)
    outcome = await run_all(probe, chosen, trace=True, limit=max(1.5, min(20.0, slow * 10)))
    for test, run in outcome.runs.items():
        if run.ok:
            baseline.runs[test] = run
        elif run.frames:
            baseline.runs[test].frames = run.frames
            baseline.runs[test].message = baseline.runs[test].message or run.message
    baseline.coverage.update(outcome.coverage)
    await _trace_passing(probe, baseline, budget=budget, workers=workers)


async def _trace_passing(probe: Probe, baseline: Baseline, *, budget: float, workers: int) -> None:
    files = {test.split("::")[0] for test in baseline.failing}
    order = sorted(
        (t for t in baseline.passing if t in baseline.runs),
        key=lambda t: (t.split("::")[0] not in files, baseline.runs[t].seconds),
    )
    began = time.monotonic()
    chunks = list(_chunks(order, baseline, seconds=max(0.5, budget / 6)))
    order_of = iter(chunks)
    done: list[bool] = []
    problems: list[ProbeFailed] = []

    async def work() -> None:
        for chunk in order_of:
            left = budget - (time.monotonic() - began)
            if left <= 0:
                return
            job = Job(tests=chunk, stop=False, trace=True, limit=left + 1, total=left + 1)
            with anyio.move_on_after(left + 3):
                try:
                    outcome = read_answer(await probe.run(job))
                except ProbeFailed as problem:
                    problems.append(problem)  # raised below, outside the group
                    return
                baseline.coverage.update(outcome.coverage)
                done.append(outcome.complete)

    async with anyio.create_task_group() as tasks:
        for _ in range(workers):
            tasks.start_soon(work)
    if problems:
        raise problems[0]
    baseline.traced_all = sum(done) == len(chunks)


def _chunks(tests: Iterable[str], baseline: Baseline, *, seconds: float) -> Iterable[list[str]]:
    """Split tests into runs of about the same traced time."""
    chunk: list[str] = []
    total = 0.0
    for test in tests:
        chunk.append(test)
        total += baseline.runs[test].seconds * TRACE_FACTOR + 0.002
        if total >= seconds:
            yield chunk
            chunk, total = [], 0.0
    if chunk:
        yield chunk
