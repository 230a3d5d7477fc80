"""`python -m bridle.repair PATH [SECONDS] [--json]`: try a repair and print what was found.

With `--json`, progress goes to stderr as lines of JSON and the report to stdout as one object:
this is how the harness's tool runs it in its sandbox.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio
import msgspec

from bridle.repair.tool import try_edits

if TYPE_CHECKING:
    from bridle.repair.report import Progress, RepairReport


def main() -> int:
    """Run on the given directory; 0 when fixed."""
    words = [word for word in sys.argv[1:] if word != "--json"]
    path = words[0] if words else "."
    budget = float(words[1]) if len(words) > 1 else 60.0
    as_json = "--json" in sys.argv

    def show(progress: Progress) -> None:
        if as_json:
            sys.stderr.write(msgspec.json.encode(progress).decode() + "\n")
            return
        count = f" {progress.tried}/{progress.candidates}" if progress.candidates else ""
        sys.stderr.write(f"{progress.seconds:6.1f}s {progress.phase}{count}: {progress.message}\n")

    async def repair() -> RepairReport:
        return await try_edits(path, time_budget=budget, on_progress=show)

    report = anyio.run(repair)
    if as_json:
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    else:
        _print(report)
    return 0 if report.status in {"fixed", "no_failing_tests"} else 3


def _print(report: RepairReport) -> None:
    sys.stdout.write(f"{report.message}\n{report.diff}\n")
    if report.status == "not_fixed":
        for line in report.suspicious:
            sys.stdout.write(f"  {line.path}:{line.line}  {line.score:.2f}  {line.text}\n")


if __name__ == "__main__":
    raise SystemExit(main())
