"""Calls as people and transcripts write them: from a name and arguments to facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bridle.errors import ConfigError
from bridle.permissions.hosts import authority_of
from bridle.permissions.patterns import READ_TOOLS, SHELL_TOOLS, WRITE_TOOLS, canonical
from bridle.types.regex import lazy
from bridle.types.tools import CallFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.types.tools import Category

_CALL = lazy(r"([\w.:/-]+?)\((.*)\)", re.DOTALL)
_COLON = lazy(r"([A-Za-z_]\w*): ?(.*)", re.DOTALL)
_PATHS = ("path", "file_path", "notebook_path", "filename", "directory")
_FETCHES = frozenset({"web_fetch", "navigate", "screenshot", "extract"})
_ASKS = frozenset({"ask_user", "submit_plan", "notify", "send_message", "wait_for_agent"})
_DELEGATES = frozenset({"subagent", "fork_agent", "call_coordinator"})
_READS = READ_TOOLS | {
    "git_diff", "git_log", "recall", "task_check", "get_setting", "inspect_context",
    "trace_tool_call", "sleep",
}  # fmt: skip


def facts_of(tool: str, args: Mapping[str, Any]) -> CallFacts:
    """What is known of a call of a built-in tool, or of its namesake in another harness."""
    name = canonical(tool)
    category = category_of(name)
    texts = {key: value for key, value in args.items() if isinstance(value, str)}
    paths = tuple(texts[key] for key in _PATHS if texts.get(key))
    if name in SHELL_TOOLS:
        command = texts.get("command", texts.get("cmd"))
        return CallFacts(args=dict(args), category="execute", command=command, cwd=texts.get("cwd"))
    hosts: tuple[str, ...] = ()
    if "url" in texts:
        hosts = (authority_of(texts["url"]) or texts["url"],)
    return CallFacts(
        args=dict(args),
        category=category,
        read_only=category == "read",
        paths=() if name in _FETCHES else paths,
        hosts=hosts,
        asks_user=name in _ASKS | _DELEGATES,
        delegates=name in _DELEGATES,
    )


def category_of(tool: str) -> Category:
    """The category of a built-in tool; what is not known is `other`."""
    name = canonical(tool)
    if name in SHELL_TOOLS:
        return "execute"
    if name in WRITE_TOOLS or name == "git_commit":
        return "edit"
    if name in _READS or name in _FETCHES or name == "web_search":
        return "read"
    return "mcp" if name.startswith(("mcp__", "mcp_")) else "other"


def parse_call(text: str) -> tuple[str, CallFacts]:
    """Read `bash(git push)`, `bash: git push` or `write_file(src/a.py)`, as policy tests write."""
    found = _CALL.fullmatch(text.strip()) or _COLON.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"{text!r} is not a call; write for example 'bash(git push)'.")
    tool, argument = canonical(found[1]), found[2]
    if tool in SHELL_TOOLS:
        return tool, facts_of(tool, {"command": argument})
    if tool in _FETCHES:
        return tool, facts_of(tool, {"url": argument})
    if tool in WRITE_TOOLS | READ_TOOLS:
        return tool, facts_of(tool, {"path": argument} if argument else {})
    return tool, facts_of(tool, {"value": argument} if argument else {})
