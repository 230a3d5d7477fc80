"""Run checks in the sandbox and say what they said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from bridle.checks.discover import Check, discover
from bridle.checks.plan import CheckPlan
from bridle.types.base import Fixed
from bridle.types.events import CheckEnded, CheckStarted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridle.ports.processes import Processes
    from bridle.ports.sandbox import Sandbox

KEPT_CHARACTERS = 8000


class ProjectChecks(Fixed, frozen=True, kw_only=True):
    """The checks of one workspace: those written down, else those found."""

    root: Path
    processes: Processes
    sandbox: Sandbox
    config: CheckPlan = msgspec.field(default_factory=CheckPlan)
    place: object = None
    """What the sandbox's directories live as long as."""
    hide: Callable[[str], str] = lambda text: text

    @property
    def max_rounds(self) -> int:
        """How often failures are sent back to the agent."""
        return self.config.max_rounds

    async def plan(self, run_id: str) -> tuple[CheckStarted, ...]:
        """Name the checks."""
        checks = await anyio.to_thread.run_sync(checks_of, self.config, self.root)
        return tuple(
            CheckStarted(
                run_id=run_id, name=check.name, command=check.command, timeout=check.timeout
            )
            for check in checks
        )

    async def run(self, check: CheckStarted, output: str) -> CheckEnded:
        """Run one check; it reads the answer on its standard input."""
        result = await self.processes.run(
            ["bash", "-c", check.command],
            sandbox=self.sandbox,
            cwd=str(self.root),
            timeout=check.timeout,
            stdin=output.encode(),
            env={"PYTHONDONTWRITEBYTECODE": "1"},  # a check leaves no files behind
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


def checks_of(plan: CheckPlan, root: Path) -> tuple[Check, ...]:
    """The commands of a plan in a project."""
    if not plan.enabled:
        return ()
    return discover(root, timeout=plan.timeout) if plan.find else plan.steps


def check_names(plan: CheckPlan, root: Path) -> tuple[str, ...]:
    """The checks of a plan, as people read them."""
    how = " (found)" if plan.find else ""
    return tuple(f"{check.name}{how}: {check.command}" for check in checks_of(plan, root))
