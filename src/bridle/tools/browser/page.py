"""One page of a browser: open a URL, look at it, take things out of it."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from bridle.errors import ToolError
from bridle.permissions.hosts import authority_of
from bridle.types.base import Moving

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from bridle.tools.browser.cdp import Connection

SETTLE = 2.0
"""How long a loaded page may go on fetching before it is looked at, in seconds."""

EVALUATE = 5.0
MAX_ASKED = 1000
MAX_HTML = 2_000_000
MAX_ELEMENTS = 200
TALLEST = 6000
LARGEST_PNG = 3_000_000

_FOUND = """(selector, most, size) => {
  const found = [...document.querySelectorAll(selector)].slice(0, most);
  return {url: location.href, title: document.title, html: found.map(e => e.outerHTML.slice(0, size))};
}"""  # noqa: E501
_BOX = """(selector) => {
  const found = document.querySelector(selector);
  if (!found) return null;
  found.scrollIntoView({block: 'center'});
  const box = found.getBoundingClientRect();
  return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height};
}"""


class Opened(Moving, kw_only=True):
    """How the opening of a URL goes."""

    status: int = 0
    url: str = ""
    loaded: anyio.Event
    quiet: anyio.Event


class Page:
    """A tab; its methods raise `ToolError` with what to do."""

    def __init__(self, connection: Connection, tasks: TaskGroup) -> None:
        self._connection = connection
        self._tasks = tasks
        self._session = ""
        self._frame = ""
        self._opened: Opened | None = None
        self.asked: set[str] = set()
        """The hosts that the page itself asked for; the browser has errands of its own."""

    async def attach(self) -> None:
        """Make the tab."""
        made = await self._connection.call("Target.createTarget", url="about:blank")
        attached = await self._connection.call(
            "Target.attachToTarget", targetId=made["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        self._frame = made["targetId"]
        self._connection.listeners.append(self._hear)
        await self._connection.call("Browser.setDownloadBehavior", behavior="deny")
        for domain in ("Page.enable", "Network.enable"):
            await self._call(domain)
        await self._call("Page.setLifecycleEventsEnabled", enabled=True)

    @property
    def is_open(self) -> bool:
        """Whether something was opened in it."""
        return self._opened is not None

    async def open(self, url: str, seconds: float) -> tuple[str | None, bool]:
        """Open a URL; returns why it failed, if it did, and whether it loaded in time."""
        self.asked.clear()
        opened = self._opened = Opened(loaded=anyio.Event(), quiet=anyio.Event())
        answer = await self._call("Page.navigate", url=url, seconds=seconds)
        problem = answer.get("errorText")
        if problem:
            self._opened = None
            return str(problem), False
        with anyio.move_on_after(seconds) as late:
            await opened.loaded.wait()
        if late.cancelled_caught:
            await self._call("Page.stopLoading")
            return None, False
        with anyio.move_on_after(SETTLE):
            await opened.quiet.wait()
        return None, True

    @property
    def status(self) -> int:
        """The status of the page's own answer; 0 where there was none."""
        return self._opened.status if self._opened is not None else 0

    async def find(self, selector: str) -> dict[str, Any]:
        """The URL, the title and the HTML of all elements that a selector matches."""
        found = await self._evaluate(_FOUND, selector, MAX_ELEMENTS, MAX_HTML)
        assert isinstance(found, dict)
        return found

    async def picture(self, selector: str | None, *, full: bool) -> tuple[str, str]:
        """The media type and the base64 of what the page looks like."""
        clip: dict[str, Any] | None = None
        if selector is not None:
            clip = await self._evaluate(_BOX, selector)
            if clip is None:
                raise no_match(selector)
            if clip["width"] < 1 or clip["height"] < 1:
                raise ToolError(f"{selector!r} is not visible.", kind="not_visible")
        elif full:
            metrics = await self._call("Page.getLayoutMetrics")
            size = metrics["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
        options: dict[str, Any] = {"captureBeyondViewport": clip is not None}
        if clip is not None:
            options["clip"] = {**clip, "height": min(clip["height"], TALLEST), "scale": 1}
        png = (await self._call("Page.captureScreenshot", format="png", **options))["data"]
        if len(png) * 3 // 4 <= LARGEST_PNG:
            return "image/png", png
        small = await self._call("Page.captureScreenshot", format="jpeg", quality=60, **options)
        return "image/jpeg", small["data"]

    async def _evaluate(self, function: str, *arguments: Any) -> Any:
        """Call a function in a world of its own, where the page's scripts have changed nothing."""
        world = await self._call(
            "Page.createIsolatedWorld", frameId=self._frame, worldName="bridle", seconds=EVALUATE
        )
        given = ", ".join(msgspec.json.encode(argument).decode() for argument in arguments)
        answer = await self._call(
            "Runtime.evaluate",
            expression=f"({function})({given})",
            contextId=world["executionContextId"],
            returnByValue=True,
            timeout=EVALUATE * 1000,
            seconds=EVALUATE + 5,
        )
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"].get("exception", {}).get("description") or "?"
            raise ToolError(
                f"The page could not be looked at: {thrown.splitlines()[0][:300]}",
                hint="Check the selector: it is a CSS selector such as `main h2` or `#price`.",
                kind="invalid_selector",
            )
        return answer["result"].get("value")

    async def _dismiss(self) -> None:
        """Nobody is there to answer a dialog, and the page waits for it."""
        with suppress(ToolError):  # it is gone with its page
            await self._call("Page.handleJavaScriptDialog", accept=False)

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._connection.call(method, session=self._session, **params)

    def _hear(self, event: str, params: dict[str, Any]) -> None:
        opened = self._opened
        match event:
            case "Network.requestWillBeSent":
                if len(self.asked) < MAX_ASKED and (host := authority_of(params["request"]["url"])):
                    self.asked.add(host)
            case "Page.javascriptDialogOpening":
                self._tasks.start_soon(self._dismiss)
            case "Page.loadEventFired" if opened is not None:
                opened.loaded.set()
            case "Page.lifecycleEvent" if opened is not None:
                if params.get("name") == "networkIdle" and params.get("frameId") == self._frame:
                    opened.quiet.set()
            case "Network.responseReceived" if opened is not None:
                if params.get("type") == "Document" and params.get("frameId") == self._frame:
                    opened.status = int(params["response"]["status"])
                    opened.url = str(params["response"]["url"])
            case _:
                pass


def no_match(selector: str) -> ToolError:
    """Nothing fits a selector."""
    return ToolError(
        f"Nothing on the page matches {selector!r}.",
        hint="Call extract without a selector to see what there is.",
        kind="no_match",
    )


def decoded_size(data: str) -> int:
    """The bytes that a base64 text stands for."""
    return len(base64.b64decode(data))
