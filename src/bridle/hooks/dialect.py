"""How calls are named towards hooks that were written for another tool, and back again."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.hooks.define import Bound

NAMES = {
    "bash": "Bash", "read_file": "Read", "write_file": "Write", "edit_file": "Edit",
    "multi_edit": "MultiEdit", "list_files": "LS", "glob": "Glob", "grep": "Grep",
    "web_fetch": "WebFetch", "web_search": "WebSearch", "subagent": "Task",
    "task_write": "TodoWrite", "submit_plan": "ExitPlanMode", "ask_user": "AskUserQuestion",
}  # fmt: skip
ARGUMENTS = {
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path", "old": "old_string", "new": "new_string"},
    "multi_edit": {"path": "file_path"},
    "subagent": {"task": "prompt"},
}
"""Arguments that have another name there."""


def told_as(bound: Bound, data: Mapping[str, Any]) -> dict[str, Any]:
    """What a hook is told, in the words that it knows: the path of a file is whole there."""
    tool = data.get("tool_name")
    if bound.dialect == "bridle" or not isinstance(tool, str):
        return dict(data)
    names = ARGUMENTS.get(tool, {})
    given = {names.get(key, key): value for key, value in data.get("tool_input", {}).items()}
    if isinstance(path := given.get("file_path"), str):
        given["file_path"] = posixpath.normpath(posixpath.join(str(data.get("cwd", "")), path))
    return {**data, "tool_name": NAMES.get(tool, tool), "tool_input": given}


def understood(bound: Bound, tool: str, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a hook answered with, in our words."""
    if bound.dialect == "bridle":
        return args
    names = {theirs: ours for ours, theirs in ARGUMENTS.get(tool, {}).items()}
    return {names.get(key, key): value for key, value in args.items()}
