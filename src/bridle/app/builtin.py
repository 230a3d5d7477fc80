"""The built-in tools of a harness: the default ones, and those that are asked for by name."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bridle.errors import ConfigError, suggest
from bridle.tools.builtin.ask_user import ask_user_tool
from bridle.tools.builtin.submit_plan import submit_plan_tool
from bridle.tools.builtin.tasks import task_tools
from bridle.tools.toolset import ALIASES
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bridle.tools.define import Tool

DEFAULT = "default"
"""In a list of tools: all that a harness has when nothing is said."""


class BuiltinTools(Fixed, frozen=True, kw_only=True):
    """Which built-in tools a harness offers, by name or glob; nothing said means the default ones.

    `enabled` are the only ones then; `default` in it stands for those. `search_url` is where
    `web_search` looks, unless the environment names another place.
    """

    enabled: Sequence[str] = ()
    disabled: Sequence[str] = ()
    search_url: str | None = None


class Shelf:
    """The built-in tools of one harness; the optional ones are made when they are first named."""

    def __init__(
        self,
        tools: Iterable[Tool],
        optional: Mapping[str, Callable[[], Tool]],
        choice: BuiltinTools,
        *,
        always: Iterable[Tool] = (),
    ) -> None:
        self._made = {tool.name: tool for tool in tools}
        self._optional = optional
        self._default = tuple(self._made)
        self._disabled = self._matching(choice.disabled)
        chosen = self._matching(choice.enabled) if choice.enabled else self._default
        self.offered: tuple[Tool, ...] = (
            *(self.named(name) for name in chosen if name not in self._disabled),
            *always,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that can be asked for."""
        return tuple(dict.fromkeys((*self._default, *self._optional)))

    def named(self, name: str) -> Tool:
        """A tool by its name or alias; raises `ConfigError` where there is none."""
        name = ALIASES.get(name, name)
        if name in self._disabled:
            raise ConfigError(f"The built-in tool {name!r} is disabled here.")
        if name not in self._made:
            make = self._optional.get(name)
            if make is None:
                raise ConfigError(suggest(name, self.names, what="built-in tool"))
            self._made[name] = make()
        return self._made[name]

    def _matching(self, globs: Sequence[str]) -> tuple[str, ...]:
        found: list[str] = []
        for glob in globs:
            if glob == DEFAULT:
                found += self._default
                continue
            matched = [name for name in self.names if fnmatchcase(name, ALIASES.get(glob, glob))]
            if not matched:
                raise ConfigError(suggest(glob, (*self.names, DEFAULT), what="built-in tool"))
            found += matched
        return tuple(dict.fromkeys(found))


def plain_tools() -> tuple[Tool, ...]:
    """The tools that need nothing but the conversation."""
    return (ask_user_tool(), submit_plan_tool(), *task_tools())
