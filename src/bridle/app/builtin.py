"""The built-in tools that need no workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ConfigError, suggest
from bridle.tools.builtin.ask_user import ask_user_tool
from bridle.tools.builtin.plans import plan_tools
from bridle.tools.builtin.submit_plan import submit_plan_tool
from bridle.tools.builtin.tasks import task_tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridle.tools.define import Tool

WORKSPACE_NAMES = (
    "read_file",
    "write_file",
    "edit_file",
    "multi_edit",
    "list_files",
    "glob",
    "grep",
    "bash",
)
BUILTIN_NAMES = (
    "ask_user",
    "submit_plan",
    "create_plan",
    "update_plan_step",
    "task_write",
    "task_update",
    "task_complete",
    "task_check",
)


def builtin_tools(*, disabled: Sequence[str] = ()) -> tuple[Tool, ...]:
    """All of them but the disabled ones."""
    tools = (ask_user_tool(), submit_plan_tool(), *plan_tools(), *task_tools())
    return tuple(tool for tool in tools if tool.name not in disabled)


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are not built in."""
    for name in names:
        if name not in (*BUILTIN_NAMES, *WORKSPACE_NAMES):
            raise ConfigError(
                suggest(name, (*BUILTIN_NAMES, *WORKSPACE_NAMES), what="built-in tool")
            )


def check_absent(**options: object) -> None:
    """Refuse options of parts that are not there yet, rather than ignore them."""
    for name, value in options.items():
        if value is not None:
            raise ConfigError(f"{name}= is not available yet; leave it out.")
