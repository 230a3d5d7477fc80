"""The names of the built-in tools: what is offered by itself, and what when it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ConfigError, suggest
from bridle.permissions.patterns import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

BUILTIN_NAMES = (
    "ask_user",
    "submit_plan",
    "task_write",
    "task_update",
    "task_complete",
    "task_check",
)
"""Offered everywhere."""

DELEGATION_NAMES = (
    "subagent",
    "fork_agent",
    "call_coordinator",
    "send_message",
    "wait_for_agent",
)
"""Offered where there are subagents."""

WORKSPACE_NAMES = (
    "read_file",
    "write_file",
    "edit_file",
    "multi_edit",
    "list_files",
    "glob",
    "grep",
    "bash",
    "bash_session",
)
"""Offered where there is a workspace."""

QUIET_NAMES = (
    "notify",
    "sleep",
    "get_setting",
    "update_setting",
    "inspect_context",
    "trace_tool_call",
    "request_permission",
    "create_plan",
    "update_plan_step",
)
"""Offered when they are named, and run for a model that calls them all the same: they reach nothing
but the session."""

NAMED_NAMES = (*QUIET_NAMES, "web_fetch", "web_search")
NAMED_WORKSPACE_NAMES = (
    "git_diff",
    "git_log",
    "git_commit",
    "codebase_search",
    "navigate",
    "screenshot",
    "extract",
)
"""Offered when they are named."""

BUILTIN_TOOLS = (
    *WORKSPACE_NAMES,
    *BUILTIN_NAMES,
    *DELEGATION_NAMES,
    *NAMED_NAMES,
    *NAMED_WORKSPACE_NAMES,
)
"""All of them."""

ELSEWHERE = (
    "remember", "recall", "forget", "tag_in_agent", "escalate_to_human", "mcp_call_tool",
    "mcp_list_resources",
)  # fmt: skip
"""Names of tools that come with another part of a harness."""

DEFAULT = "default"
"""In `tools.enabled`: what is offered when the field is not there."""


def check_globs(globs: Sequence[str]) -> None:
    """Refuse a name that no tool has; globs and tools of MCP servers are not known before a run."""
    known = {*BUILTIN_TOOLS, *ELSEWHERE, DEFAULT}
    for glob in globs:
        name = canonical(glob)
        if not set(name) & set("*?[") and not name.startswith("mcp__") and name not in known:
            raise ConfigError(suggest(glob, known, what="tool"))


def enabled_tools(globs: Sequence[str]) -> tuple[str, ...] | None:
    """The scope that `tools.enabled` means; None where nothing is said."""
    if not globs:
        return None
    found: list[str] = []
    for glob in globs:
        usual = (*WORKSPACE_NAMES, *BUILTIN_NAMES, *DELEGATION_NAMES)
        found += usual if glob == DEFAULT else [canonical(glob)]
    return tuple(dict.fromkeys(found))
