"""The task list: write it whole, change one task, complete one, look at it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ToolError
from bridle.ports.tools import Recorded
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.events import TasksUpdated
from bridle.types.tasks import Task, TaskStatus
from bridle.types.tools import Done

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_ID = 48


class TaskDraft(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A task as the model writes it; the id may be left out."""

    content: str
    status: TaskStatus = "pending"
    active_form: str = ""
    id: str | None = None


def task_tools() -> Sequence[Tool]:
    """Build the four tools."""
    return (_task_write(), _task_update(), _task_complete(), _task_check())


def _task_write() -> Tool:
    @tool(name="task_write", effect="safe", asks_user=True)
    async def task_write(tasks: list[TaskDraft], ctx: ToolContext[Any]) -> Recorded:
        """Write the whole task list; at most one task is in progress."""
        written = assign_ids(tasks, ctx.scope.tasks)
        _check_one_in_progress(written)
        return _updated(written, ctx)

    return task_write


def _task_update() -> Tool:
    @tool(name="task_update", effect="safe", asks_user=True)
    async def task_update(
        id: str,
        ctx: ToolContext[Any],
        content: str | None = None,
        status: TaskStatus | None = None,
        active_form: str | None = None,
    ) -> Recorded:
        """Change one task; starting one puts the others that were in progress back to pending."""
        changes = {
            name: value
            for name, value in (
                ("content", content),
                ("status", status),
                ("active_form", active_form),
            )
            if value is not None
        }
        if not changes:
            raise ToolError("Nothing to change: give content, status or active_form.")
        tasks = change(ctx.scope.tasks, id, changes)
        return _updated(tasks, ctx)

    return task_update


def _task_complete() -> Tool:
    @tool(name="task_complete", effect="safe", asks_user=True)
    async def task_complete(id: str, ctx: ToolContext[Any]) -> Recorded:
        """Mark one task as completed."""
        return _updated(change(ctx.scope.tasks, id, {"status": "completed"}), ctx)

    return task_complete


def _task_check() -> Tool:
    @tool(name="task_check", category="read", read_only=True, concurrency_safe=True, asks_user=True)
    async def task_check(ctx: ToolContext[Any]) -> dict[str, Any]:
        """Look at the task list: all tasks, a summary, and what is left."""
        return checked(ctx.scope.tasks)

    return task_check


def checked(tasks: Sequence[Task]) -> dict[str, Any]:
    """What `task_check` tells."""
    counts = {
        name: sum(task.status == name for task in tasks)
        for name in ("completed", "in_progress", "pending")
    }
    total = len(tasks)
    return {
        "tasks": [msgspec.to_builtins(task) for task in tasks],
        "summary": {
            "total": total,
            **counts,
            "all_completed": total > 0 and counts["completed"] == total,
        },
        "incomplete": [msgspec.to_builtins(t) for t in tasks if t.status != "completed"],
        "is_error": False,
    }


def assign_ids(drafts: Sequence[TaskDraft], before: Sequence[Task]) -> tuple[Task, ...]:
    """Give every task an id of its own; a task that stays keeps its id."""
    taken = {draft.id for draft in drafts if draft.id}
    by_content = {task.content: task.id for task in before if task.id not in taken}
    tasks: list[Task] = []
    used: set[str] = set()
    for draft in drafts:
        if not draft.content.strip():
            raise ToolError("A task has no content.")
        wanted = draft.id or by_content.pop(draft.content, None) or _slug(draft.content)
        name = _free(wanted, used if draft.id else used | taken)
        used.add(name)
        tasks.append(
            Task(
                id=name,
                content=draft.content,
                status=draft.status,
                active_form=draft.active_form or draft.content,
            )
        )
    return tuple(tasks)


def change(tasks: Sequence[Task], id: str, changes: dict[str, Any]) -> tuple[Task, ...]:
    """Change one task; only one stays in progress."""
    if id not in {task.id for task in tasks}:
        known = "\n".join(f"- {task.id}: {task.content}" for task in tasks) or "(none)"
        raise ToolError(f"There is no task {id!r}. Task ids:\n{known}", kind="not_found")
    starts = changes.get("status") == "in_progress"
    changed: list[Task] = []
    for task in tasks:
        if task.id == id:
            changed.append(msgspec.structs.replace(task, **changes))
        elif starts and task.status == "in_progress":
            changed.append(msgspec.structs.replace(task, status="pending"))
        else:
            changed.append(task)
    return tuple(changed)


def _updated(tasks: tuple[Task, ...], ctx: ToolContext[Any]) -> Recorded:
    completed = sum(task.status == "completed" for task in tasks)
    lines = [f"Tasks updated: {completed} of {len(tasks)} completed."]
    lines += [f"- {task.id}: {task.content} ({task.status})" for task in tasks]
    return Recorded(
        outcome=Done("\n".join(lines)),
        events=(TasksUpdated(call_id=ctx.call_id, tasks=tasks),),
    )


def _check_one_in_progress(tasks: Sequence[Task]) -> None:
    if sum(task.status == "in_progress" for task in tasks) > 1:
        raise ToolError("Only one task can be in progress at a time.")


def _slug(content: str) -> str:
    words = re.findall(r"[a-z0-9]+", content.lower())
    return ("task_" + "_".join(words))[:LONGEST_ID].rstrip("_") or "task_item"


def _free(wanted: str, used: set[str]) -> str:
    name, number = wanted, 2
    while name in used:
        name, number = f"{wanted}_{number}", number + 1
    return name
