"""The tests as unittest finds them."""

from __future__ import annotations

import os
import re
import sys
import unittest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridle_probe.watch import Reporter

SKIPPED_DIRECTORIES = {"node_modules", "build", "dist", "site-packages", "venv"}


class UnittestSuite:
    """All tests of the project, found once, run by id."""

    def __init__(self, root: str) -> None:
        self._tests: dict[str, Any] = {}
        self.errors: dict[str, str] = {}
        self.error_frames: dict[str, list[tuple[str, int]]] = {}
        for start, top in _starts(root):
            loader = unittest.TestLoader()
            if top not in sys.path:
                sys.path.insert(0, top)
            for test in _flat(loader.discover(start, top_level_dir=top)):
                self._add(test, root)

    @property
    def tests(self) -> list[str]:
        """The ids of all tests."""
        return list(self._tests)

    def _add(self, test: Any, root: str) -> None:
        name = test.id()
        if type(test).__name__ == "_FailedTest":
            text = str(getattr(test, "_exception", ""))
            self.errors[name] = text[-3000:]
            places = re.findall(r'File "([^"]+)", line (\d+)', text)
            inside = [(p, int(n)) for p, n in places if p.startswith(root + "/")]
            self.error_frames[name] = [(p[len(root) + 1 :], n) for p, n in inside]
        self._tests.setdefault(name, test)

    def run(self, tests: Sequence[str], *, reporter: Reporter, stop: bool) -> None:
        """Run these tests in this order; with `stop`, only up to the first that fails."""
        for test in tests:
            if test not in self._tests:
                gone = not test.startswith("unittest.loader._FailedTest.")
                reporter.begin(test)
                reporter.end(test, "failed" if gone else "passed")
                if gone and stop:
                    return
        suite = unittest.TestSuite(self._tests[test] for test in tests if test in self._tests)
        result = _Result(reporter, stop=stop)
        suite.run(result)


class _Result(unittest.TestResult):
    def __init__(self, reporter: Reporter, *, stop: bool) -> None:
        super().__init__()
        self._reporter = reporter
        self._stop = stop
        self._outcome = "passed"

    def startTest(self, test: unittest.TestCase) -> None:
        self._outcome = "passed"
        self._reporter.begin(test.id())
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self._reporter.end(test.id(), self._outcome)
        if self._stop and self._outcome == "failed":
            self.stop()

    def _fail(self, test: Any, err: Any) -> None:
        kind, value, trace = err
        del kind
        self._reporter.note_failure(test.id(), value, trace)
        self._outcome = "failed"

    def addError(self, test: Any, err: Any) -> None:
        if not isinstance(test, unittest.TestCase):
            self._reporter.begin(test.id())
            self._fail(test, err)
            self._reporter.end(test.id(), "failed")
            self.stop()
            return
        self._fail(test, err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._fail(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        del subtest
        if err is not None:
            self._fail(test, err)

    def addSkip(self, test: Any, reason: str) -> None:
        del test, reason
        self._outcome = "skipped"

    def addUnexpectedSuccess(self, test: Any) -> None:
        del test
        self._outcome = "failed"


def _flat(suite: Any) -> Iterator[Any]:
    if isinstance(suite, unittest.TestSuite):
        for part in suite:
            yield from _flat(part)
    else:
        yield suite


def _starts(root: str) -> list[tuple[str, str]]:
    """Where `unittest discover` would have to be pointed at, and its top-level directory."""
    found: list[tuple[str, str]] = []
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if not n.startswith(".") and n not in SKIPPED_DIRECTORIES]
        if not any(f.startswith("test") and f.endswith(".py") for f in files):
            continue
        nested = any(folder.startswith(start + "/") for start, _ in found)
        if nested and "__init__.py" in files:
            continue
        top = folder
        while os.path.exists(os.path.join(top, "__init__.py")) and top != root:
            top = os.path.dirname(top)
        found.append((folder, top))
    return found
