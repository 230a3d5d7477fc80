"""A plan as data: written once, then kept up to date step by step, for people and programs.

It is kept in the thread's settings under `plan`, so whoever looks at the thread can read it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.errors import ToolError
from bridle.ports.tools import Recorded
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.events import SettingsChanged
from bridle.types.plans import Plan, PlanStep, StepStatus
from bridle.types.tools import Done

SETTING = "plan"


def create_plan_tool() -> Tool:
    """Build the tool that writes a plan."""

    @tool(name="create_plan", effect="safe", asks_user=True)
    async def create_plan(steps: list[str], ctx: ToolContext[Any], title: str = "Plan") -> Recorded:
        """Write down a plan as steps in order; it replaces the plan before it."""
        if not steps or not all(step.strip() for step in steps):
            raise ToolError("A plan needs steps, each with a text.")
        made = [PlanStep(id=f"step_{number}", content=step) for number, step in enumerate(steps, 1)]
        return _kept(Plan(title=title, steps=tuple(made)), ctx)

    return create_plan


def update_plan_step_tool() -> Tool:
    """Build the tool that keeps a plan up to date."""

    @tool(name="update_plan_step", effect="safe", asks_user=True)
    async def update_plan_step(
        id: str, status: StepStatus, ctx: ToolContext[Any], note: str = ""
    ) -> Recorded:
        """Tell how far a step of the plan is; one step is in progress at a time."""
        plan = ctx.scope.plan
        if plan is None:
            raise ToolError("There is no plan yet; write one with create_plan.", kind="not_found")
        return _kept(changed(plan, id, status, note), ctx)

    return update_plan_step


def changed(plan: Plan, id: str, status: StepStatus, note: str) -> Plan:
    """The plan with one step changed; raises `ToolError` for a step that it does not have."""
    if id not in {step.id for step in plan.steps}:
        known = "\n".join(f"- {step.id}: {step.content}" for step in plan.steps)
        raise ToolError(f"There is no step {id!r}. Steps:\n{known}", kind="not_found")
    busy = [s.id for s in plan.steps if s.status == "in_progress" and s.id != id]
    if status == "in_progress" and busy:
        raise ToolError(f"Only one step can be in progress at a time; {busy[0]} is.")
    steps = tuple(
        msgspec.structs.replace(step, status=status, note=note or step.note)
        if step.id == id
        else step
        for step in plan.steps
    )
    return msgspec.structs.replace(plan, steps=steps)


def _kept(plan: Plan, ctx: ToolContext[Any]) -> Recorded:
    lines = [f"{plan.title}:"]
    lines += [f"- {step.id}: {step.content} ({step.status})" for step in plan.steps]
    kept = SettingsChanged(key=SETTING, value=msgspec.to_builtins(plan), call_id=ctx.call_id)
    return Recorded(outcome=Done("\n".join(lines)), events=(kept,))
