"""The moments of an agent's life that hooks can be bound to, and what may be done at each."""

from __future__ import annotations

from typing import Literal

from bridle.errors import ConfigError, suggest
from bridle.types.base import Fact

HookType = Literal["before", "after", "transform", "validate", "observe"]
TYPES: tuple[HookType, ...] = ("before", "after", "transform", "validate", "observe")

ALL: tuple[HookType, ...] = TYPES
DECIDED: tuple[HookType, ...] = ("before", "validate", "after", "observe")
TOLD: tuple[HookType, ...] = ("after", "observe")
GATED: tuple[HookType, ...] = ("before", "validate", "transform", "observe")


class Moment(Fact, frozen=True, kw_only=True):
    """One lifecycle event: which types of hooks it has, and where it has no subsystem yet, why."""

    types: tuple[HookType, ...]
    why: str
    missing: str | None = None
    about_tools: bool = False


MOMENTS: dict[str, Moment] = {
    "conversation:start": Moment(types=DECIDED, why="nothing is there yet that could be changed"),
    "conversation:message": Moment(types=ALL, why=""),
    "conversation:end": Moment(types=DECIDED, why="what was said is in the log already"),
    "tool:before_call": Moment(
        types=GATED, about_tools=True, why="what follows a call is tool:after_call"
    ),
    "tool:after_call": Moment(types=ALL, about_tools=True, why=""),
    "tool:error": Moment(
        types=("after", "transform", "observe"),
        about_tools=True,
        why="a call that failed cannot be stopped any more",
    ),
    "context:compress": Moment(types=ALL, why="", missing="compaction"),
    "context:overflow": Moment(types=TOLD, why="the run ends because of it"),
    "permission:request": Moment(
        types=DECIDED, about_tools=True, why="arguments are changed at tool:before_call"
    ),
    "permission:denied": Moment(types=TOLD, about_tools=True, why="the call is denied already"),
    "memory:store": Moment(types=ALL, why="", missing="memory"),
    "memory:recall": Moment(types=ALL, why="", missing="memory"),
    "agent:fork": Moment(types=ALL, why="", about_tools=True),
    "agent:terminate": Moment(types=DECIDED, why="what was said is in the log already"),
    "mcp:connect": Moment(types=ALL, why="", missing="MCP"),
    "mcp:disconnect": Moment(types=ALL, why="", missing="MCP"),
    "plan:create": Moment(types=ALL, why="", about_tools=True),
    "plan:step_complete": Moment(types=TOLD, why="the step is complete already"),
    "system:error": Moment(types=TOLD, why="it has happened already"),
    "system:shutdown": Moment(types=TOLD, why="the harness is closed whatever a hook says"),
    "notification": Moment(types=TOLD, why="the user is told whatever a hook says"),
}

CLAUDE: dict[str, tuple[str, HookType]] = {
    "PreToolUse": ("tool:before_call", "before"),
    "PostToolUse": ("tool:after_call", "after"),
    "PostToolUseFailure": ("tool:error", "after"),
    "UserPromptSubmit": ("conversation:message", "before"),
    "SessionStart": ("conversation:start", "after"),
    "SessionEnd": ("system:shutdown", "after"),
    "Stop": ("conversation:end", "before"),
    "SubagentStart": ("agent:fork", "after"),
    "SubagentStop": ("agent:terminate", "before"),
    "PermissionRequest": ("permission:request", "before"),
    "PermissionDenied": ("permission:denied", "after"),
    "Notification": ("notification", "after"),
    "PreCompact": ("context:compress", "before"),
}
"""Names of another tool for the same moments, each with the type that it implies."""

AVAILABLE: tuple[str, ...] = (
    *(name for name, moment in MOMENTS.items() if moment.missing is None),
    *(name for name, (moment, _) in CLAUDE.items() if MOMENTS[moment].missing is None),
)
"""Every name that a hook can be bound to now."""

UNKNOWN_YET = (
    "PostCompact", "Setup", "ConfigChange", "Elicitation", "ElicitationResult", "CwdChanged",
    "FileChanged", "InstructionsLoaded", "TaskCreated", "TaskCompleted", "TeammateIdle",
    "WorktreeCreate", "WorktreeRemove", "StopFailure", "UserPromptExpansion", "PostToolBatch",
)  # fmt: skip
"""Names of that tool for moments that do not exist here."""


def resolve(event: str, hook_type: str | None) -> tuple[str, HookType]:
    """The moment and the type of a hook; raises `ConfigError` for what cannot be."""
    name, implied = CLAUDE.get(event, (event, None))
    if event in UNKNOWN_YET or (name in MOMENTS and MOMENTS[name].missing is not None):
        missing = MOMENTS[name].missing if name in MOMENTS else None
        why = f": there is no {missing}" if missing else ""
        raise ConfigError(f"The event {event!r} is not available yet{why}.")
    if name not in MOMENTS:
        raise ConfigError(suggest(event, AVAILABLE, what="event"))
    wanted = hook_type or implied
    if wanted is None:
        raise ConfigError(f"A hook on {event!r} needs a type: {', '.join(MOMENTS[name].types)}.")
    if wanted not in TYPES:
        raise ConfigError(suggest(wanted, TYPES, what="type"))
    moment = MOMENTS[name]
    if wanted not in moment.types:
        raise ConfigError(
            f"There is no {wanted!r} hook on {event!r}: {moment.why}. "
            f"Have {', '.join(moment.types)}."
        )
    return name, next(known for known in TYPES if known == wanted)
