"""Rule patterns, in every form in which people write them.

`bash(git status:*)` is a prefix of words, `Bash(npm test)` the exact command, `bash(git commit *)`
a wildcard (which also matches without anything behind it); `write_file:/tmp/**` and
`execute_command:rm *` are the same with a colon; a bare name, globs allowed, means the whole tool.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

import msgspec

from bridle.errors import ConfigError
from bridle.types.regex import lazy

Kind = Literal["tool", "whole", "prefix", "exact", "wildcard"]

ALIASES = {
    "execute_command": "bash", "shell": "bash", "run_shell_command": "bash", "Bash": "bash",
    "search_files": "grep", "Grep": "grep", "Glob": "glob", "LS": "list_files",
    "todo_write": "task_write", "TodoWrite": "task_write", "todo_read": "task_check",
    "TodoRead": "task_check", "Read": "read_file", "Write": "write_file", "Edit": "edit_file",
    "MultiEdit": "multi_edit", "WebFetch": "web_fetch", "WebSearch": "web_search",
    "Task": "subagent", "Agent": "subagent", "AskUserQuestion": "ask_user",
    "ExitPlanMode": "submit_plan", "BashOutput": "bash_session", "KillShell": "bash_session",
}  # fmt: skip
"""Other names of our tools."""

SHELL_TOOLS = frozenset({"bash", "bash_session"})
WRITE_TOOLS = frozenset({"write_file", "edit_file", "multi_edit"})
READ_TOOLS = frozenset({"read_file", "grep", "glob", "list_files", "codebase_search"})

_FAMILIES = {"Edit": WRITE_TOOLS, "Read": READ_TOOLS, "Bash": SHELL_TOOLS}
"""In Claude's settings these names stand for every tool that does the same."""

_CALL = lazy(r"([A-Za-z_*][\w.*-]*)\((.*)\)", re.DOTALL)
_COLON = lazy(r"([A-Za-z_*][\w.*-]*):(.*)", re.DOTALL)
_URI = lazy(r"mcp://([^/]+)(?:/([^/]+))?(?:/(.+))?")
_NAME = lazy(r"[\w.*?\[\]!-]+")


class Pattern(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pattern, read. `tools` are globs; `widened` ones must not be used for allowing.

    `words` are those of a command; a `tool` pattern has no argument at all.
    """

    tools: tuple[str, ...]
    kind: Kind
    argument: str = ""
    words: tuple[str, ...] = ()
    widened: bool = False

    @property
    def specificity(self) -> tuple[int, int, int]:
        """Larger is more specific: exact before partial, then by what is spelled out."""
        rank = {"tool": 0, "whole": 1, "wildcard": 2, "prefix": 2, "exact": 3}[self.kind]
        spelled = len(re.sub(r"[*?]|:\*$", "", self.argument))
        names = sum(len(re.sub(r"[*?]", "", tool)) for tool in self.tools[:1])
        return rank, spelled, names


def canonical(tool: str) -> str:
    """Our name of a tool."""
    found = _URI.fullmatch(tool)
    if found:
        return f"mcp__{found[1]}__{found[3] or found[2] or '*'}"
    return ALIASES.get(tool, tool)


@lru_cache(maxsize=2048)
def parse(text: str) -> Pattern:
    """Read a pattern; raises ConfigError where it is not one."""
    stripped = text.strip()
    uri = _URI.fullmatch(stripped)
    if uri:
        server, category, tool = uri[1], uri[2], uri[3]
        widened = bool(tool) and "*" in tool and category not in (None, "*")
        return Pattern((f"mcp__{server}__{tool or '*'}",), "tool", widened=widened)
    found = _CALL.fullmatch(stripped) or _COLON.fullmatch(stripped)
    if not found:
        if not stripped or not _NAME.fullmatch(stripped):
            raise ConfigError(
                f"{text!r} is not a pattern; write a tool such as 'bash', or 'bash(git status:*)', "
                "'write_file:/tmp/**', 'mcp__server__tool'."
            )
        return Pattern(_tools(stripped, has_argument=False), "tool")
    tools = _tools(found[1], has_argument=True)
    argument = found[2].strip()
    if argument in ("", "*", ":*", "**"):
        return Pattern(tools, "whole")
    kind: Kind = "wildcard" if "*" in argument or "?" in argument else "exact"
    words: tuple[str, ...] = ()
    if set(tools) & SHELL_TOOLS:
        if argument.endswith(":*"):
            kind, argument = "prefix", argument[:-2].rstrip()
        elif "*" not in argument:
            kind = "exact"
        words = split(argument)
    return Pattern(tools, kind, argument, words)


def _tools(name: str, *, has_argument: bool) -> tuple[str, ...]:
    family = _FAMILIES.get(name)
    if family and has_argument:
        return tuple(sorted(family))
    if name == "Bash" or ALIASES.get(name, name) == "bash":
        return ("bash", "bash_session") if has_argument else ("bash",)
    return (ALIASES.get(name, name),)


def split(text: str) -> tuple[str, ...]:
    """The words of a command that a person wrote in a rule."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def names_tool(pattern: Pattern, tool: str) -> bool:
    """Is the pattern about this tool?"""
    return any(fnmatchcase(tool, glob) for glob in pattern.tools)


@lru_cache(maxsize=2048)
def wildcard(text: str) -> re.Pattern[str]:
    """A wildcard of commands or values: `*` is anything, a trailing ` *` may be nothing."""
    if text.endswith(" *"):
        head = wildcard_text(text[:-2])
        return re.compile(rf"{head}(?: .*)?", re.DOTALL)
    return re.compile(wildcard_text(text), re.DOTALL)


def wildcard_text(text: str) -> str:
    """The regular expression of a wildcard."""
    return "".join(".*" if char == "*" else re.escape(char) for char in text)


def value_matches(pattern: Pattern, values: tuple[str, ...], *, every: bool) -> bool:
    """Do the text arguments of a call match? Allowing needs all of them, denying one."""
    if not values:
        return False
    found = [wildcard(pattern.argument).fullmatch(value) is not None for value in values]
    return all(found) if every else any(found)


def domain(pattern: Pattern) -> str:
    """The host that a pattern for fetching names: `domain:a.io`, `a.io` or a URL."""
    argument = pattern.argument.removeprefix("domain:")
    if "://" in argument:
        argument = argument.split("://", 1)[1].split("/", 1)[0]
    return argument
