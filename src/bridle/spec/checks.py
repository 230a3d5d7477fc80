"""`checks`: what decides whether a result is verified."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.checks.discover import Check
from bridle.checks.plan import CheckPlan
from bridle.spec.base import Amount, Section

Rounds = Annotated[int, msgspec.Meta(ge=0)]


class CustomStep(Section, frozen=True, kw_only=True):
    """A command that passes with exit code 0."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    command: Annotated[str, msgspec.Meta(min_length=1)]
    timeout: Amount | None = None
    enabled: bool = True


class ChecksSection(Section, frozen=True, kw_only=True):
    """What decides whether a result is verified. Without this section the project's own tests are
    found, run, and counted in the exit code."""

    enabled: bool | None = None
    fail_on_error: bool | None = None
    max_rounds: Rounds = 0
    timeout_seconds: Amount = 300.0
    custom_steps: list[CustomStep] = []

    def __post_init__(self) -> None:
        names = [step.name for step in self.custom_steps]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two steps have the name {twice[0]!r}")


def compile_checks(section: ChecksSection) -> CheckPlan:
    """What is run; a section that says anything means it, unless it says `enabled: false`."""
    written = section != ChecksSection()
    return CheckPlan(
        enabled=section.enabled is not False,
        fail_on_error=not written if section.fail_on_error is None else section.fail_on_error,
        max_rounds=section.max_rounds,
        timeout=section.timeout_seconds,
        steps=tuple(
            Check(
                name=step.name,
                command=step.command,
                timeout=step.timeout or section.timeout_seconds,
            )
            for step in section.custom_steps
            if step.enabled
        ),
        find=not section.custom_steps,
    )
