"""What was recorded, as hooks are told of it afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.types.base import Fact
from bridle.types.events import (
    ApprovalRequired,
    PermissionDecided,
    PlanSubmitted,
    QuestionAsked,
    SubagentStarted,
    TasksUpdated,
)

if TYPE_CHECKING:
    from bridle.types.events import AnyEvent

MOST_WAITING = 1000


class Told(Fact, frozen=True, kw_only=True):
    """One moment: what hooks are told, and of which call."""

    event: str
    call_id: str
    data: dict[str, Any]


def told_of(event: AnyEvent) -> list[Told]:
    """The moments that an event is."""
    match event:
        case ApprovalRequired():
            asks = f"{event.tool} needs your permission"
            return [
                _told("permission:request", event),
                _told("notification", event, message=asks, notification_type="permission_prompt"),
            ]
        case PermissionDecided(effect="deny"):
            return [_told("permission:denied", event, reason=event.reason, rule=event.rule)]
        case QuestionAsked():
            kind = "elicitation_dialog"
            return [_told("notification", event, message=event.question, notification_type=kind)]
        case PlanSubmitted():
            return [
                _told("plan:create", event, title=event.title, plan=event.plan),
                _told(
                    "notification",
                    event,
                    message=f"A plan waits for you: {event.title}",
                    notification_type="permission_prompt",
                ),
            ]
        case SubagentStarted():
            child = event.child_thread_id
            kind, task = event.agent_type, event.task
            return [_told("agent:fork", event, agent_type=kind, task=task, agent_id=child)]
        case TasksUpdated():
            return [
                _told("plan:step_complete", event, title=task.content, task=task.id)
                for task in event.tasks
                if task.status == "completed"
            ]
        case _:
            return []


def _told(name: str, event: Any, **data: Any) -> Told:
    return Told(event=name, call_id=event.call_id, data=data)
