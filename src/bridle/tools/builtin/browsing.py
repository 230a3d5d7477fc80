"""Look at pages as a browser shows them: open one, take a picture, take out its text."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bridle.errors import ToolError
from bridle.tools.browser.page import decoded_size, no_match
from bridle.tools.define import Tool, ToolContext, tool
from bridle.tools.web.fetch import normal_url
from bridle.tools.web.reach import checked_authority
from bridle.tools.web.readable import readable
from bridle.types.content import Image
from bridle.types.tools import Done

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bridle.tools.browser.browser import Browser, Browsers
    from bridle.tools.browser.page import Page

LOAD = 20.0
LONGEST = 60.0
TIMEOUT = 120.0
BEGINNING = 3000


def _hosts(args: dict[str, Any]) -> tuple[str, ...]:
    url = args.get("url")
    return (checked_authority(str(url)),) if url is not None else ()


ATTRIBUTES: dict[str, Any] = {
    "category": "read",
    "read_only": True,
    "concurrency_safe": False,
    "effect": "safe",
    "timeout": TIMEOUT,
    "hosts": _hosts,
}


def navigate_tool(browsers: Browsers) -> Tool:
    """Build the tool that opens a page."""

    @tool(name="navigate", **ATTRIBUTES)
    async def navigate(url: str, ctx: ToolContext[Any], timeout: float = LOAD) -> str:
        """Open a URL in a browser that runs its scripts; returns how its text begins."""
        async with _page(browsers, ctx, url, seconds=timeout) as (page, told):
            found = await page.find("html")
            text = _text(found)
            more = f"\n[{len(text)} characters; call extract for the rest]"
            return f"{_head(found, page, told)}\n\n{text[:BEGINNING]}" + (
                more if len(text) > BEGINNING else ""
            )

    return navigate


def screenshot_tool(browsers: Browsers) -> Tool:
    """Build the tool that shows a page."""

    @tool(name="screenshot", **ATTRIBUTES)
    async def screenshot(
        ctx: ToolContext[Any],
        url: str | None = None,
        selector: str | None = None,
        full_page: bool = False,
    ) -> Done:
        """Take a picture of the open page (or of url), of one element or of the full page."""
        async with _page(browsers, ctx, url) as (page, told):
            kind, data = await page.picture(selector, full=full_page)
            found = await page.find("title")
            head = _head(found, page, told)
            return Done(f"{head}\n{kind}, {decoded_size(data)} bytes", images=(Image(kind, data),))

    return screenshot


def extract_tool(browsers: Browsers) -> Tool:
    """Build the tool that takes text out of a page."""

    @tool(name="extract", **ATTRIBUTES)
    async def extract(
        ctx: ToolContext[Any], selector: str | None = None, url: str | None = None
    ) -> str:
        """Text of the open page (or of url): all of it, or of what a CSS selector matches."""
        async with _page(browsers, ctx, url) as (page, told):
            found = await page.find(selector or "html")
            if not found["html"] and selector is not None:
                raise no_match(selector)
            return f"{_head(found, page, told)}\n\n{_text(found) or '(there is no text)'}"

    return extract


@asynccontextmanager
async def _page(
    browsers: Browsers, ctx: ToolContext[Any], url: str | None, *, seconds: float = LOAD
) -> AsyncIterator[tuple[Page, list[str]]]:
    """The open page, after opening `url` where one is given; with what is to be told of it."""
    if url is None:
        browser = browsers.of(ctx.scope)
        if browser is None or not browser.page.is_open:
            raise ToolError(
                "No page is open. A browser ends with its run, and with the process that it was "
                "started in.",
                hint="Call navigate with a URL first, or give the URL.",
                kind="no_page",
            )
    else:
        browser = await browsers.start(ctx.scope)
    async with browser.using:
        told: list[str] = []
        try:
            if url is not None:
                browser.hosts.approve(checked_authority(url))
                told += await _open(browser, normal_url(url), min(max(seconds, 1.0), LONGEST))
            yield browser.page, told
        except ToolError as error:
            if error.kind == "timeout":  # a page that hangs takes the next one with it
                browser.end()
            raise


async def _open(browser: Browser, url: str, seconds: float) -> list[str]:
    browser.hosts.refused(set())
    problem, loaded = await browser.page.open(url, seconds)
    refused = browser.hosts.refused(browser.page.asked)
    said = [f"[not reached, because it is not allowed: {', '.join(refused[:20])}]"]
    if problem is not None:
        why = said[0] if refused else f"the browser says {problem}"
        raise ToolError(
            f"{url} could not be opened: {why}.",
            hint="A host that a page leads to is decided as a call of its own: call navigate with "
            "its URL."
            if refused
            else "Check the URL.",
            kind="refused" if refused else "unavailable",
        )
    late = [] if loaded else [f"[it was still loading after {seconds:g} s]"]
    return [*(said if refused else []), *late]


def _head(found: dict[str, Any], page: Page, told: list[str]) -> str:
    status = f" ({page.status})" if page.status else ""
    title = " ".join(str(found["title"]).split())
    return "\n".join([f"{found['url']}{status}", *([f"Title: {title}"] if title else []), *told])


def _text(found: dict[str, Any]) -> str:
    texts = [readable(html, base=str(found["url"]))[1] for html in found["html"]]
    return "\n\n".join(text for text in texts if text)
