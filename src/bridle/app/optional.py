"""The built-in tools that are offered only when a spec or an agent names them.

They are made, and their modules imported, when they are named.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridle.errors import ConfigError
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool
    from bridle.tools.web.reach import Reach
    from bridle.types.permissions import Policy


class Outside(Fixed, frozen=True, kw_only=True):
    """What the optional tools are made from."""

    place: Workplace | None
    policy: Policy
    search_url: str | None

    def makers(self) -> Mapping[str, Callable[[], Tool]]:
        """How each tool is made, by its name."""
        return {
            "web_fetch": self._web_fetch,
            "web_search": self._web_search,
            "codebase_search": self._codebase_search,
        }

    def _web_fetch(self) -> Tool:
        from bridle.tools.builtin.web_fetch import web_fetch_tool

        return web_fetch_tool(self._reach(), environ=os.environ)

    def _web_search(self) -> Tool:
        from bridle.tools.builtin.web_search import endpoint, web_search_tool

        place = endpoint(os.environ, self.search_url)
        return web_search_tool(place, self._reach(), environ=os.environ)

    def _codebase_search(self) -> Tool:
        from bridle.tools.builtin.codebase_search import codebase_search_tool

        return codebase_search_tool(self._workplace("codebase_search"))

    def _reach(self) -> Reach:
        from bridle.tools.web.reach import Reach

        return Reach(policy=self.policy, allowed=self.policy.hosts or ())

    def _workplace(self, tool: str) -> Workplace:
        if self.place is None:
            raise ConfigError(f"The tool {tool!r} works in a workspace; give the harness one.")
        return self.place
