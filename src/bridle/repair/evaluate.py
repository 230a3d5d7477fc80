"""Try one candidate: failing tests first, then what it may have broken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bridle.repair.probe import Job, Probe
from bridle.repair.rank import Candidate, hot_order
from bridle.repair.tests_runner import FIRST_LIMIT, Baseline, Outcome, read_answer

if TYPE_CHECKING:
    from collections.abc import Iterable

Result = Literal["passes", "partial", "breaks", "fails"]
COLD_TARGETS = 6
KILLERS_FIRST = 12


@dataclass(slots=True, kw_only=True)
class Evaluator:
    """Runs candidates in forked children; remembers which tests catch bad edits.

    `starts_python` is set when tests may run the project in processes of their own: those cannot
    see code that was replaced in place and get the edited text by an import overlay.
    """

    hot: Probe
    cold: Probe | None
    baseline: Baseline
    starts_python: bool = False
    killers: dict[str, int] = field(default_factory=dict)

    @property
    def targets(self) -> list[str]:
        """What must pass in the end."""
        return [*self.baseline.errors, *self.baseline.failing]

    async def evaluate(self, candidate: Candidate) -> Result:
        """Tell what the candidate does to the suite."""
        if candidate.hot and not self.baseline.errors:
            outcome = await self._hot(candidate)
            if not outcome.unpatchable:
                return self._judged(outcome)
        if self.cold is None:
            return "fails"
        return await self._cold(candidate)

    async def _hot(self, candidate: Candidate) -> Outcome:
        order = hot_order(candidate, str(self.baseline.setup.root))
        tests = [*self.targets, *self.regressions(candidate)]
        path = f"{self.baseline.setup.root}/{candidate.source.path}"
        overlay = {path: candidate.text} if self.starts_python else {}
        job = Job(
            tests=tests, edits=[order], overlay=overlay, limit=self._limit(), total=self._total()
        )
        return read_answer(await self.hot.run(job))

    async def _cold(self, candidate: Candidate) -> Result:
        assert self.cold is not None
        path = f"{self.baseline.setup.root}/{candidate.source.path}"
        overlay = {path: candidate.text}
        first = Job(
            tests=self.targets[:COLD_TARGETS],
            overlay=overlay,
            limit=self._limit(),
            silence=20.0,
            total=self._total(),
        )
        outcome = read_answer(await self.cold.run(first))
        if outcome.failed or not outcome.complete:
            return self._judged(outcome)
        unknown = max(FIRST_LIMIT, self._limit())  # tests that could not be collected until now
        whole = Job(
            tests=None, overlay=overlay, limit=unknown, silence=20.0, total=self._total() + 60
        )
        outcome = read_answer(await self.cold.run(whole))
        if (
            outcome.complete
            and not outcome.failed
            and len(outcome.runs) >= len(self.baseline.tests)
        ):
            return "passes"
        broken = set(outcome.failed) - set(self.targets)
        return "breaks" if broken or not outcome.complete else "partial"

    def _judged(self, outcome: Outcome) -> Result:
        failed = outcome.failed
        if any(t in outcome.runs and outcome.runs[t].outcome == "skipped" for t in self.targets):
            return "fails"  # silenced, not repaired
        if outcome.complete and not failed:
            return "passes"
        for test in failed:
            if test not in self.targets:
                self.killers[test] = self.killers.get(test, 0) + 1
                return "breaks"
        solved = [t for t in self.targets if t in outcome.runs and outcome.runs[t].ok]
        return "partial" if solved else "fails"

    def regressions(self, candidate: Candidate) -> list[str]:
        """Passing tests to run, the likely catchers first; all of them if coverage is not known."""
        coverage = self.baseline.coverage
        path, lines = candidate.source.path, range(candidate.first, candidate.last + 1)
        near, other = [], []
        for test in self.baseline.passing:
            seen = coverage.get(test)
            if seen is None:
                other.append(test)
            elif not seen.get(path, _NOTHING).isdisjoint(lines):
                near.append(test)
        known = sorted(self.killers, key=lambda t: -self.killers[t])[:KILLERS_FIRST]
        near.sort(key=lambda t: self.baseline.runs[t].seconds)
        return list(dict.fromkeys([*(k for k in known if k in near), *near, *other]))

    def _limit(self) -> float:
        """CPU seconds for tests whose usual time is not known, such as those that hang."""
        passed = (r.seconds for r in self.baseline.runs.values() if r.outcome == "passed")
        return max(0.5, 4 * max(passed, default=0.1))

    def _total(self) -> float:
        return 20 + 6 * self.baseline.suite_seconds


_NOTHING: set[int] = set()


def smallest(found: Iterable[Candidate]) -> list[Candidate]:
    """Order plausible repairs: the least changed text first, then the better ranked."""
    return sorted(found, key=lambda c: (c.size > 12, c.size // 4, -c.score))
