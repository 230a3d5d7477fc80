"""Which checks a harness runs, and what their failure means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types.base import Fixed

if TYPE_CHECKING:
    from bridle.checks.discover import Check


class CheckPlan(Fixed, frozen=True, kw_only=True):
    """Commands that were written down, or (`find`) those that the project turns out to have.

    `max_rounds` is how often failures are sent back to the agent; `fail_on_error` lets a failed
    verdict decide the exit code. A `confined` plan runs in a sandbox even where the workspace has
    none: nobody is asked about a check.
    """

    enabled: bool = True
    fail_on_error: bool = True
    max_rounds: int = 0
    timeout: float = 300.0
    steps: tuple[Check, ...] = ()
    find: bool = True
    confined: bool = False
