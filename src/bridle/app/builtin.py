"""The built-in tools: which there are, and which are offered without being named.

What every request carries costs tokens in every request. So a harness offers what most tasks need;
the others are built in as well and are offered when somebody names them, in `tools.enabled` of a
spec or in `Agent(tools=["git_diff"])`.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from bridle.errors import ConfigError, suggest
from bridle.permissions.patterns import canonical
from bridle.tools.builtin.ask_user import ask_user_tool
from bridle.tools.builtin.names import (
    BUILTIN_TOOLS,
    NAMED_NAMES,
    NAMED_WORKSPACE_NAMES,
    QUIET_NAMES,
    WORKSPACE_NAMES,
)
from bridle.tools.builtin.submit_plan import submit_plan_tool
from bridle.tools.builtin.tasks import task_tools
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from bridle.app.outside import Outside
    from bridle.journal.bus import Listener
    from bridle.tools.builtin.shells import Shells
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool


class Catalogue(Fixed, frozen=True, kw_only=True):
    """The built-in tools of a harness: those offered, and by name those that may be asked for."""

    offered: Sequence[Tool]
    named: Mapping[str, Callable[[], Tool]]
    listeners: tuple[Listener, ...] = ()
    """What started something that ends with its run wants to hear of runs that end."""
    later: frozenset[str] = frozenset()
    """Names of tools that come with the workspace."""

    def check(self, name: str) -> None:
        """Refuse a name that is not built in."""
        if canonical(name) not in self.later:
            self.find(name)

    def find(self, name: str) -> Tool:
        """A built-in tool by its name or another name of it."""
        wanted = canonical(name)
        for tool in self.offered:
            if tool.name == wanted:
                return tool
        if wanted not in self.named:
            known = [*(tool.name for tool in self.offered), *self.named, *self.later]
            raise ConfigError(suggest(name, known, what="built-in tool"))
        return self.named[wanted]()

    def quiet(self, name: str) -> Tool | None:
        """A tool that a model may call without having been told of it; None for all others."""
        make = self.named.get(name) if name in QUIET_NAMES else None
        return None if make is None else make()

    def matching(self, globs: Sequence[str]) -> list[Tool]:
        """The tools that are not offered by themselves and that one of these globs names."""
        names = [canonical(glob) for glob in globs]
        return [
            make()
            for name, make in self.named.items()
            if any(fnmatchcase(name, glob) for glob in names)
        ]


def catalogue(
    place: Workplace | None,
    *,
    tasks: Callable[[], TaskGroup],
    outside: Outside,
    more: Sequence[Tool] = (),
    disabled: Sequence[str] = (),
    later: bool = False,
) -> Catalogue:
    """Build the tools of a harness; `tasks` is where what outlives a call lives."""
    check_names(disabled)
    left_out = {canonical(name) for name in disabled}
    listeners: list[Listener] = [outside.hear]
    tools: list[Tool] = []
    if place is not None:
        from bridle.tools.builtin.shells import Shells

        shells = Shells(place, tasks)
        listeners.append(shells.hear)
        tools += _workspace_tools(place, shells)
    tools += [*more, *_plain_tools()]
    named = {**_named(place), **outside.makers()}
    return Catalogue(
        offered=tuple(tool for tool in tools if tool.name not in left_out),
        named={name: make for name, make in named.items() if name not in left_out},
        listeners=tuple(listeners),
        later=frozenset((*WORKSPACE_NAMES, *NAMED_WORKSPACE_NAMES)) - left_out
        if later
        else frozenset(),
    )


@cache
def _plain_tools() -> tuple[Tool, ...]:
    """What needs nothing but the conversation: the same for every harness."""
    return (ask_user_tool(), submit_plan_tool(), *task_tools())


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are not built in."""
    for name in names:
        if canonical(name) not in BUILTIN_TOOLS:
            raise ConfigError(suggest(name, BUILTIN_TOOLS, what="built-in tool"))


def check_absent(**options: object) -> None:
    """Refuse options of parts that are not there yet, rather than ignore them."""
    for name, value in options.items():
        if value is not None:
            raise ConfigError(f"{name}= is not available yet; leave it out.")


def _workspace_tools(place: Workplace, shells: Shells) -> Sequence[Tool]:
    from bridle.tools.builtin.bash import bash_tool
    from bridle.tools.builtin.bash_session import bash_session_tool
    from bridle.tools.builtin.edit_file import edit_file_tool, multi_edit_tool
    from bridle.tools.builtin.grep import grep_tool
    from bridle.tools.builtin.list_files import glob_tool, list_files_tool
    from bridle.tools.builtin.read_file import read_file_tool
    from bridle.tools.builtin.write_file import write_file_tool

    return (
        read_file_tool(place),
        write_file_tool(place),
        edit_file_tool(place),
        multi_edit_tool(place),
        list_files_tool(place),
        glob_tool(place),
        grep_tool(place),
        bash_tool(place),
        bash_session_tool(shells),
    )


def _named(place: Workplace | None) -> dict[str, Callable[[], Tool]]:
    """What is made when it is asked for: the modules are not imported before."""
    found: dict[str, Callable[[], Tool]] = {name: _maker(name) for name in NAMED_NAMES}
    if place is not None:
        for name in NAMED_WORKSPACE_NAMES:
            found[name] = _maker(name, place)
    return found


def _maker(name: str, *arguments: Workplace) -> Callable[[], Tool]:
    module = _MODULES.get(name, name)

    def make() -> Tool:
        from importlib import import_module

        found = import_module(f"bridle.tools.builtin.{module}")
        tool: Tool = getattr(found, f"{name}_tool")(*arguments)
        return tool

    return make


_MODULES = {
    "create_plan": "plans",
    "update_plan_step": "plans",
    "get_setting": "settings",
    "update_setting": "settings",
    "inspect_context": "inspecting",
    "trace_tool_call": "inspecting",
    "git_diff": "git_look",
    "git_log": "git_look",
}
