"""Run checks in the sandbox and say what they said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.checks.discover import Check, discover
from bridle.types.base import Fixed
from bridle.types.events import CheckEnded, CheckStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bridle.ports.processes import Processes
    from bridle.ports.sandbox import Sandbox

KEPT_CHARACTERS = 8000


class ProjectChecks(Fixed, frozen=True, kw_only=True):
    """The checks of one workspace: those given, else those found."""

    root: Path
    processes: Processes
    sandbox: Sandbox
    given: Sequence[Check] = ()
    hide: Callable[[str], str] = lambda text: text

    async def plan(self, run_id: str) -> tuple[CheckStarted, ...]:
        """Name the checks."""
        return tuple(
            CheckStarted(run_id=run_id, name=check.name, command=check.command)
            for check in self._all()
        )

    async def run(self, check: CheckStarted) -> CheckEnded:
        """Run one check."""
        timeout = next((c.timeout for c in self._all() if c.name == check.name), 300.0)
        result = await self.processes.run(
            ["bash", "-c", check.command],
            sandbox=self.sandbox,
            cwd=str(self.root),
            timeout=timeout,
        )
        text = self.hide("\n".join((result.stdout, *result.notes)))
        return CheckEnded(
            run_id=check.run_id,
            name=check.name,
            passed=result.exit_code == 0 and result.killed is None,
            output=text[-KEPT_CHARACTERS:],
            exit_code=result.exit_code,
            duration_ms=int(result.duration * 1000),
        )

    def _all(self) -> tuple[Check, ...]:
        return tuple(self.given) or discover(self.root)
