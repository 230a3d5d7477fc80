"""A plan that an agent keeps as data, with the state of each of its steps."""

from typing import Literal

import msgspec

StepStatus = Literal["pending", "in_progress", "completed", "failed", "skipped"]


class PlanStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step; `note` says how it went or why it was left out."""

    id: str
    content: str
    status: StepStatus = "pending"
    note: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The steps in their order."""

    title: str
    steps: tuple[PlanStep, ...]
