"""Events about what a session keeps: modes, models, questions, plans, tasks and state."""

from typing import Any, ClassVar

import msgspec

from bridle.types.events.base import Event, Origin
from bridle.types.tasks import Task


class ModeChanged(Event, frozen=True, kw_only=True, tag="mode_changed"):
    """The thread works in another mode."""

    mode_id: str
    previous_mode_id: str | None
    consumes: tuple[str, ...] = ()


class ModelChanged(Event, frozen=True, kw_only=True, tag="model_changed"):
    """A mode uses another model; `scope` is thread (kept), session, or mode: it came with one."""

    model_id: str | None
    scope: str
    mode_id: str
    consumes: tuple[str, ...] = ()


class SubagentModelChanged(Event, frozen=True, kw_only=True, tag="subagent_model_changed"):
    """A type of subagent, or all of them, uses another model in this thread."""

    origin: ClassVar[Origin] = "external"

    model_id: str
    agent_type: str | None
    scope: str


class PrefixBroken(Event, frozen=True, kw_only=True, tag="prefix_broken"):
    """Requests begin differently from here on; `head` names the blob of the new beginning."""

    origin: ClassVar[Origin] = "input"

    cause: str
    head: str
    policy: str


class QuestionOption(msgspec.Struct, frozen=True, kw_only=True):
    """One answer that can be chosen."""

    label: str
    description: str = ""


class QuestionAsked(Event, frozen=True, kw_only=True, tag="ask_question"):
    """The model asks the user; the run waits."""

    question_id: str
    call_id: str
    question: str
    options: tuple[QuestionOption, ...] = ()
    selection_mode: str | None = None


class QuestionAnswered(Event, frozen=True, kw_only=True, tag="question_answered"):
    """The user answered."""

    question_id: str
    call_id: str
    answer: str | list[str]


class PlanSubmitted(Event, frozen=True, kw_only=True, tag="plan_approval_required"):
    """The model shows a plan and waits for the user's word."""

    plan_id: str
    call_id: str
    title: str
    plan: str


class PlanApproved(Event, frozen=True, kw_only=True, tag="plan_approved"):
    """The user accepted the plan."""

    plan_id: str
    call_id: str


class PlanRejected(Event, frozen=True, kw_only=True, tag="plan_rejected"):
    """The user wants another plan."""

    plan_id: str
    call_id: str
    feedback: str | None = None


class TasksUpdated(Event, frozen=True, kw_only=True, tag="task_updated"):
    """The whole task list, after a change."""

    origin: ClassVar[Origin] = "input"

    call_id: str
    tasks: tuple[Task, ...]


class StateChanged(Event, frozen=True, kw_only=True, tag="state_changed"):
    """The application's state, and which of its keys really changed."""

    origin: ClassVar[Origin] = "external"

    state: dict[str, Any]
    changed_keys: tuple[str, ...]
