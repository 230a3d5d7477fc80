"""`python -m bridle.repair PATH`: try a repair and print what was found. For development."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio

from bridle.repair.tool import try_edits

if TYPE_CHECKING:
    from bridle.repair.report import Progress


def main() -> int:
    """Run on the given directory; 0 when fixed."""
    path = sys.argv[1] if len(sys.argv) > 1 else "."
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0

    def show(progress: Progress) -> None:
        count = f" {progress.tried}/{progress.candidates}" if progress.candidates else ""
        sys.stderr.write(f"{progress.seconds:6.1f}s {progress.phase}{count}: {progress.message}\n")

    async def repair() -> int:
        report = await try_edits(path, time_budget=budget, on_progress=show)
        sys.stdout.write(f"{report.message}\n{report.diff}\n")
        if report.status == "not_fixed":
            for line in report.suspicious:
                sys.stdout.write(f"  {line.path}:{line.line}  {line.score:.2f}  {line.text}\n")
        return 0 if report.status in {"fixed", "no_failing_tests"} else 3

    return anyio.run(repair)


if __name__ == "__main__":
    raise SystemExit(main())
