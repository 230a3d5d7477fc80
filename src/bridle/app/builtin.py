"""The built-in tools that need no workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.app.crew import DELEGATION_NAMES
from bridle.errors import ConfigError, suggest
from bridle.tools.builtin.ask_user import ask_user_tool
from bridle.tools.builtin.submit_plan import submit_plan_tool
from bridle.tools.builtin.tasks import task_tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.tools.define import Tool

BUILTIN_NAMES = (
    "ask_user",
    "submit_plan",
    "task_write",
    "task_update",
    "task_complete",
    "task_check",
    *DELEGATION_NAMES,
)


def builtin_tools(*, disabled: Sequence[str] = ()) -> tuple[Tool, ...]:
    """All of them but the disabled ones."""
    tools = (ask_user_tool(), submit_plan_tool(), *task_tools())
    return tuple(tool for tool in tools if tool.name not in disabled)


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are not built in."""
    for name in names:
        if name not in BUILTIN_NAMES:
            raise ConfigError(suggest(name, BUILTIN_NAMES, what="built-in tool"))
