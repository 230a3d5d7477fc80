"""The tools that look outside or far around: the web, a browser, the whole of the code.

Each is made, and its modules imported, when it is first named; from then on it is the same one,
because it may hold something that lasts: what it has read, or a browser.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyio.abc import TaskGroup

    from bridle.tools.browser.browser import Browsers
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.define import Tool
    from bridle.tools.web.reach import Reach
    from bridle.types.events import AnyEvent
    from bridle.types.permissions import Policy


class Outside:
    """Makes these tools for one harness, by the hosts that its policy lets it reach."""

    def __init__(
        self,
        place: Workplace | None,
        policy: Policy,
        *,
        search_url: str | None,
        tasks: Callable[[], TaskGroup],
    ) -> None:
        self._place = place
        self._policy = policy
        self._search_url = search_url
        self._tasks = tasks
        self._made: dict[str, Tool] = {}
        self._browsers: Browsers | None = None

    def makers(self) -> Mapping[str, Callable[[], Tool]]:
        """How each tool is made, by its name; some are there only in a workspace."""
        makers: dict[str, Callable[[], Tool]] = {
            "web_fetch": self._web_fetch,
            "web_search": self._web_search,
        }
        if self._place is not None:
            place = self._place
            makers["codebase_search"] = lambda: self._codebase_search(place)
            for name in ("navigate", "screenshot", "extract"):
                makers[name] = partial(self._browsing, name, place)
        return {name: self._once(name, make) for name, make in makers.items()}

    def _once(self, name: str, make: Callable[[], Tool]) -> Callable[[], Tool]:
        def made() -> Tool:
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]

        return made

    def _web_fetch(self) -> Tool:
        from bridle.tools.builtin.web_fetch import web_fetch_tool

        return web_fetch_tool(self._reach(), environ=os.environ)

    def _web_search(self) -> Tool:
        from bridle.tools.builtin.web_search import endpoint, web_search_tool

        place = endpoint(os.environ, self._search_url)
        return web_search_tool(place, self._reach(), environ=os.environ)

    def _codebase_search(self, place: Workplace) -> Tool:
        from bridle.tools.builtin.codebase_search import codebase_search_tool

        return codebase_search_tool(place)

    def _browsing(self, name: str, place: Workplace) -> Tool:
        from bridle.tools.browser.browser import Browsers
        from bridle.tools.builtin import browsing

        if self._browsers is None:
            self._browsers = Browsers(place, self._reach(), environ=os.environ, tasks=self._tasks)
        tool: Tool = getattr(browsing, f"{name}_tool")(self._browsers)
        return tool

    def hear(self, event: AnyEvent) -> None:
        """A browser ends with its run."""
        if self._browsers is not None:
            self._browsers.hear(event)

    def _reach(self) -> Reach:
        from bridle.tools.web.reach import Reach

        return Reach(policy=self._policy, allowed=self._policy.hosts or ())
