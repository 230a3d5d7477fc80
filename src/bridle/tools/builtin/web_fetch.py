"""Fetch a page of the web and read it as text."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.define import Tool, ToolContext, tool
from bridle.tools.web.reach import Reach, checked_authority
from bridle.types.content import Image
from bridle.types.tools import Done, Failed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.tools.web.fetch import Fetched

MAX_BYTES = 2_000_000
DEFAULT_TIMEOUT = 30.0
LONGEST_TIMEOUT = 120.0
GRACE = 30.0
"""For turning a page into text, after it came."""

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
TEXTS = ("json", "xml", "javascript", "ecmascript", "yaml", "toml", "x-www-form-urlencoded", "sql")
SHOWN_OF_ERROR = 2000


def web_fetch_tool(reach: Reach, *, environ: Mapping[str, str]) -> Tool:
    """Build the tool; `reach` says which hosts it may reach."""

    @tool(
        name="web_fetch",
        category="read",
        read_only=True,
        concurrency_safe=True,
        effect="safe",
        timeout=lambda args: _seconds(args.get("timeout")) + GRACE,
        hosts=lambda args: (checked_authority(str(args["url"])),),
    )
    async def web_fetch(
        url: str, ctx: ToolContext[Any], raw: bool = False, timeout: float | None = None
    ) -> Done | Failed:
        """Fetch a web page as text (raw: as it was sent). Images are shown."""
        from bridle.tools.web.fetch import Fetcher, Limits

        fetcher = Fetcher(tool="web_fetch", reach=reach, environ=environ)
        limits = Limits(seconds=_seconds(timeout), body=MAX_BYTES)
        page = await fetcher.get(url, limits=limits, depth=ctx.scope.depth)
        return await anyio.to_thread.run_sync(shown, page, raw)

    return web_fetch


def _seconds(wanted: object) -> float:
    if not isinstance(wanted, int | float):
        return DEFAULT_TIMEOUT
    return min(max(float(wanted), 1.0), LONGEST_TIMEOUT)


def shown(page: Fetched, raw: bool) -> Done | Failed:
    """What the model reads of an answer; one that says it failed is a failure."""
    kind = media_type(page)
    head = f"{page.url} ({page.status}, {kind}, {len(page.body)} bytes)"
    if page.cut:
        head += f"\n[only the first {len(page.body)} bytes; the rest was not read]"
    if page.status >= 400:
        body = text_of(page, kind, raw=False)[1] if is_text(kind) else ""
        return Failed(f"{head}\n\n{body[:SHOWN_OF_ERROR]}".rstrip(), kind="http_status")
    if kind in IMAGES and not page.cut:
        return Done(head, images=(Image(kind, base64.b64encode(page.body).decode()),))
    if kind in IMAGES:
        raise ToolError(f"{head}\nThe image is too large.", kind="too_large")
    if not is_text(kind):
        raise ToolError(
            f"{head}: this is not text.",
            hint="Only text, HTML, JSON, XML and images are read. Look for another form of it.",
            kind="unsupported_type",
        )
    title, text = text_of(page, kind, raw=raw)
    named = f"{head}\nTitle: {title}" if title else head
    return Done(f"{named}\n\n{text or '(there is no text)'}")


def media_type(page: Fetched) -> str:
    """The type of a body: what the server says, else what it looks like."""
    said = page.content_type.partition(";")[0].strip().lower()
    if "/" in said and said not in ("application/octet-stream", "unknown/unknown"):
        return said[:100]
    if b"\0" in page.body[:8192]:
        return "application/octet-stream"
    start = page.body[:512].lstrip().lower()
    return "text/html" if start.startswith((b"<!doctype html", b"<html")) else "text/plain"


def is_text(kind: str) -> bool:
    """Whether a type can be read as text."""
    return kind.startswith("text/") or kind.rpartition("/")[2].endswith(TEXTS)


def text_of(page: Fetched, kind: str, *, raw: bool) -> tuple[str, str]:
    """The title and the text of a page."""
    from bridle.tools.web.charset import decode
    from bridle.tools.web.readable import readable

    text = decode(page.body, page.content_type, cut=page.cut)
    if raw or kind not in ("text/html", "application/xhtml+xml"):
        return "", text
    return readable(text, base=page.url)
