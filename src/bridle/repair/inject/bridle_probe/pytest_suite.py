"""The tests as pytest collects them, with the project's own configuration and plugins."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING, Any

import pytest

from bridle_probe.watch import frames

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle_probe.watch import Reporter


class PytestSuite:
    """A pytest session that is collected and then handed to `then` instead of being run."""

    def __init__(self, then: Callable[[PytestSuite], None]) -> None:
        self._then = then
        self._items: dict[str, Any] = {}
        self._reporter: Reporter | None = None
        self._failed: set[str] = set()
        self._skipped: set[str] = set()
        self.errors: dict[str, str] = {}
        self.error_frames: dict[str, list[tuple[str, int]]] = {}
        self.session: Any = None

    @property
    def tests(self) -> list[str]:
        """The ids of all tests, in pytest's order."""
        return list(self._items)

    def run(self, tests: Sequence[str], *, reporter: Reporter, stop: bool) -> None:
        """Run these tests in this order; with `stop`, only up to the first that fails."""
        self._reporter = reporter
        chosen = list(dict.fromkeys(item for test in tests for item in self._named(test)))
        missing = [test for test in tests if not self._named(test)]
        for test in missing:
            broken = next((e for e in self.errors if test == e or test.startswith(e)), None)
            gone = broken is not None or test not in self._files()
            reporter.begin(test)
            reporter.end(test, "failed" if gone else "passed")
            if gone and stop:
                return
        for index, item in enumerate(chosen):
            following = chosen[index + 1] if index + 1 < len(chosen) else None
            test = item.nodeid
            item.repr_failure = item._repr_failure_py = _brief  # noqa: SLF001  formatting is slow
            reporter.begin(test)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException as error:
                reporter.note_failure(test, error, error.__traceback__)
                self._failed.add(test)
            reporter.end(test, self._outcome(test))
            if stop and test in self._failed:
                return

    def _named(self, test: str) -> list[Any]:
        """The test of this id; where ids of parameters changed, all of the function."""
        if test in self._items or "[" not in test:
            return [self._items[test]] if test in self._items else []
        base = test.partition("[")[0] + "["
        return [item for name, item in self._items.items() if name.startswith(base)]

    def _files(self) -> set[str]:
        return {test.split("::")[0] for test in self._items}

    def _outcome(self, test: str) -> str:
        if test in self._failed:
            return "failed"
        return "skipped" if test in self._skipped else "passed"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """Pytest hook: everything is collected; take over."""
        self.session = session
        for item in session.items:
            self._items.setdefault(item.nodeid, item)
        self._then(self)
        return True

    def pytest_collectreport(self, report: Any) -> None:
        """Pytest hook: keep what could not be collected."""
        if report.failed:
            self.errors[report.nodeid] = str(report.longrepr)[-3000:]

    @pytest.hookimpl(tryfirst=True)
    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Pytest hook: keep where a collection error came from."""
        if getattr(report, "when", "collect") != "collect":
            return
        error: BaseException | None = call.excinfo.value
        found: list[tuple[str, int]] = []
        while error is not None:
            found = [*found, *frames(error.__traceback__, root=os.getcwd())]
            error = error.__cause__ or error.__context__
        self.error_frames[node.nodeid] = found

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Pytest hook: keep the exception of a failing phase."""
        if call.excinfo is not None and self._reporter is not None:
            self._reporter.note_failure(item.nodeid, call.excinfo.value, call.excinfo.tb)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Pytest hook: any failed phase or subtest fails the test."""
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.skipped and report.when != "teardown" and not _is_partial(report):
            self._skipped.add(report.nodeid)


def _is_partial(report: Any) -> bool:
    """Tell an expected failure, and a skip of a subtest, from a test that was skipped."""
    return hasattr(report, "wasxfail") or type(report).__name__.startswith("Subtest")


def _brief(*_args: object, **_options: object) -> str:
    return "failed"


def arguments(cache: str) -> list[str]:
    """Options that keep other plugins from changing the order, the process or the tracing."""
    found = ["-q", "--capture=no", "--continue-on-collection-errors", "-o", f"cache_dir={cache}"]
    if importlib.util.find_spec("xdist"):
        found.append("-n0")
    if importlib.util.find_spec("pytest_cov"):
        found.append("--no-cov")
    if importlib.util.find_spec("pytest_randomly"):
        found += ["-p", "no:randomly"]
    return found


def collect(
    args: Sequence[str], *, cache: str, then: Callable[[PytestSuite], None]
) -> tuple[PytestSuite, int]:
    """Collect with the project's configuration; `then` gets the suite while the session is open."""
    suite = PytestSuite(then)
    code = pytest.main([*arguments(cache), *args], plugins=[suite])
    return suite, int(code)
