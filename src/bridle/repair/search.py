"""From a failing suite to a verified edit, within a time budget."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio

from bridle.repair.evaluate import Evaluator, smallest
from bridle.repair.hints import read_hints
from bridle.repair.localise import Suspect, rank_statements
from bridle.repair.obstacles import obstacle
from bridle.repair.probe import ProbeFailed, Setup, open_probe
from bridle.repair.rank import Candidate, candidates, parses
from bridle.repair.report import OnProgress, Phase, Progress
from bridle.repair.source import Source
from bridle.repair.tests_runner import Baseline, Outcome, measure, open_suite, run_all, trace
from bridle.repair.workspace import (
    copy_project,
    read_sources,
    source_files,
    tests_start_processes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MOST_CANDIDATES = 12_000
GRACE_SECONDS = 1.5
TRACE_SHARE = 0.15
PARTIAL_SHARE = 0.8
DEPTH = 2
VERIFIED_AT_MOST = 3


@dataclass(slots=True, kw_only=True)
class Clock:
    """The time that is left; tells progress."""

    budget: float
    on_progress: OnProgress | None
    began: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds until the budget is used up."""
        return self.budget - self.spent

    def tell(self, phase: Phase, message: str, *, tried: int = 0, of: int = 0) -> None:
        """Report progress."""
        if self.on_progress is not None:
            self.on_progress(
                Progress(
                    phase=phase,
                    message=message,
                    tried=tried,
                    candidates=of,
                    seconds=round(self.spent, 1),
                )
            )


@dataclass(slots=True, kw_only=True)
class Found:
    """What a search came to; `texts` are the changed files of a verified repair."""

    baseline: Baseline | None = None
    suspects: list[Suspect] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    obstacle: str = ""
    passed: int = 0
    tried: int = 0
    candidates: int = 0


@dataclass(slots=True, kw_only=True)
class Tries:
    """One round of the workers: what is to be tried, until when, and what came of it."""

    order: Iterator[Candidate]
    until: float
    partial: list[Candidate]
    plausible: list[Candidate] = field(default_factory=list)
    problem: ProbeFailed | None = None


@dataclass(slots=True, kw_only=True)
class Search:
    """One project, one budget; every attempt works on its own copy."""

    original: Path
    scratch: Path
    python: str
    workers: int
    clock: Clock
    _copies: int = 0

    def workspace(self, changes: dict[str, str]) -> Path:
        """A clean copy of the project with some files changed."""
        self._copies += 1
        root = (self.scratch / f"copy{self._copies}").resolve()
        copy_project(self.original, root)
        for path, text in changes.items():
            with (root / path).open("w", encoding="utf-8", newline="") as file:
                file.write(text)
        return root

    def setup(self, root: Path) -> Setup:
        """How to run tests in a copy."""
        return Setup(
            python=self.python,
            root=root,
            original=self.original,
            scratch=self.scratch / f"{root.name}-run",
            runner="pytest",
        )

    async def run(self) -> Found:
        """Search for a repair of one edit, then of two."""
        return await self._attempt({}, depth=1)

    async def _attempt(self, changes: dict[str, str], *, depth: int) -> Found:
        root = await anyio.to_thread.run_sync(self.workspace, changes)
        found = Found()
        async with AsyncExitStack() as stack:
            self.clock.tell("tests", "running the tests")
            probe, setup = await stack.enter_async_context(open_suite(self.setup(root)))
            baseline = found.baseline = await measure(probe, setup)
            if not baseline.failing and not baseline.errors:
                return found
            found.obstacle = await anyio.to_thread.run_sync(obstacle, root, baseline)
            if found.obstacle:
                return found
            self.clock.tell("trace", f"{len(baseline.failing)} tests fail; tracing")
            share = TRACE_SHARE if depth == 1 else TRACE_SHARE / 2
            seconds = max(1.0, share * self.clock.budget)
            await trace(probe, baseline, budget=seconds, workers=self.workers)
            if not baseline.failing and not baseline.errors:
                return found
            await probe.limits(baseline.limits())
            queue = await anyio.to_thread.run_sync(self._candidates, root, found)
            cold = None
            if baseline.errors or any(not c.hot for c in queue):
                foreign = tuple(m for m in baseline.modules if not _is_own(m, root))
                cold_setup = replace(setup, mode="cold", preload=foreign)
                cold = await stack.enter_async_context(open_probe(cold_setup))
                await cold.limits(baseline.limits(least=1.0))
            starts = await anyio.to_thread.run_sync(tests_start_processes, root)
            evaluator = Evaluator(hot=probe, cold=cold, baseline=baseline, starts_python=starts)
            partial = await self._try_all(evaluator, queue, found, changes)
        if not found.texts and partial and depth < DEPTH and self.clock.left > 3:
            await self._second(found, partial, changes)
        return found

    def _candidates(self, root: Path, found: Found) -> list[Candidate]:
        baseline = found.baseline
        assert baseline is not None
        own = [path for path in source_files(root) if not baseline.holds_tests(path)]
        sources: dict[str, Source] = {}
        for path, text in read_sources(root, own).items():
            try:
                sources[path] = Source(path, text)
            except (SyntaxError, ValueError):
                continue
        found.suspects = rank_statements(sources, baseline)
        queue = candidates(
            found.suspects,
            hints=read_hints(root, baseline),
            import_lines=baseline.import_lines,
            limit=MOST_CANDIDATES,
        )
        found.candidates += len(queue)
        return queue

    async def _try_all(
        self, evaluator: Evaluator, queue: list[Candidate], found: Found, changes: dict[str, str]
    ) -> list[Candidate]:
        """Evaluate in order until something is verified or the time is up; returns partial ones."""
        last = self.clock.budget - 1.5 - 1.5 * evaluator.baseline.suite_seconds
        share = 1.0 if len(evaluator.targets) == 1 else PARTIAL_SHARE
        until = self.clock.spent + share * (last - self.clock.spent)
        order = iter(queue)
        partial: list[Candidate] = []
        while True:
            tries = Tries(order=order, until=until, partial=partial)
            async with anyio.create_task_group() as tasks:
                for _ in range(self.workers):
                    tasks.start_soon(self._work, evaluator, tries, found)
            if tries.problem is not None:
                raise tries.problem
            for candidate in smallest(tries.plausible)[:VERIFIED_AT_MOST]:
                self.clock.tell("verify", "verifying on a clean copy", tried=found.tried)
                texts = {**changes, candidate.edit.path: candidate.text}
                if passed := await self.verified(texts, evaluator.baseline):
                    found.texts, found.passed = texts, passed
                    found.kinds.append(candidate.edit.kind)
                    return []
            if not tries.plausible:
                if partial or until >= last:
                    return partial
                until = last
            if self.clock.spent >= last:
                return partial

    async def _work(self, evaluator: Evaluator, tries: Tries, found: Found) -> None:
        """Take candidates until one passes, and then a little longer: a smaller one may too."""
        for candidate in tries.order:
            if self.clock.spent >= tries.until:
                return
            if not parses(candidate):
                continue
            with anyio.move_on_after(max(0.1, tries.until - self.clock.spent + 5)):
                try:
                    result = await evaluator.evaluate(candidate)
                except ProbeFailed as problem:
                    tries.problem, tries.until = problem, 0.0
                    return
                found.tried += 1
                if result == "passes":
                    tries.plausible.append(candidate)
                    tries.until = min(tries.until, self.clock.spent + GRACE_SECONDS)
                elif result == "partial":
                    tries.partial.append(candidate)
            if found.tried % 20 == 0:
                self.clock.tell("search", "trying edits", tried=found.tried, of=found.candidates)

    async def _second(
        self, found: Found, partial: list[Candidate], changes: dict[str, str]
    ) -> None:
        """Keep the best partial edit and look for the one that is missing."""
        for candidate in smallest(partial)[:3]:
            if self.clock.left < 3:
                return
            texts = {**changes, candidate.edit.path: candidate.text}
            try:
                more = await self._attempt(texts, depth=DEPTH)
            except ProbeFailed:
                continue
            found.tried += more.tried
            found.candidates += more.candidates
            if more.texts:
                found.texts, found.passed = more.texts, more.passed
                found.kinds = [candidate.edit.kind, *more.kinds]
                return

    async def verified(self, texts: dict[str, str], baseline: Baseline) -> int:
        """Run everything in a fresh process on a clean copy with the files changed.

        Tells how many tests passed, or 0 unless all did.
        """
        root = await anyio.to_thread.run_sync(self.workspace, texts)
        setup = replace(
            baseline.setup, root=root, scratch=self.scratch / f"{root.name}-run", mode="hot"
        )
        try:
            async with open_probe(setup) as probe:
                if probe.hello.errors or base_names(baseline.tests) - base_names(probe.hello.tests):
                    return 0
                outcome = await run_all(probe, probe.hello.tests)
        except ProbeFailed:
            return 0
        if not outcome.complete or outcome.failed or newly_skipped(outcome, baseline):
            return 0
        return len(outcome.runs)


def newly_skipped(outcome: Outcome, baseline: Baseline) -> list[str]:
    """Tests that ran before and are skipped now: an edit must not silence them."""
    return [
        test
        for test, run in outcome.runs.items()
        if run.outcome == "skipped"
        and test in baseline.runs
        and baseline.runs[test].outcome != "skipped"
    ]


def base_names(tests: Iterable[str]) -> Counter[str]:
    """Count tests by function: the ids of parametrised ones may differ between processes."""
    return Counter(test.partition("[")[0] for test in tests)


def _is_own(module: str, root: Path) -> bool:
    """Tell the project's modules from others, by their first name."""
    top = module.split(".")[0]
    if top in {"__main__", "bridle_probe", "conftest"}:
        return True
    places = [root, root / "src", root / "lib", root / "python", root / "tests", root / "test"]
    return any((p / top).exists() or (p / f"{top}.py").exists() for p in places)
