"""Search the web at the endpoint that the user configured.

The endpoint answers `GET <url>?q=<query>&format=json` as SearxNG does:
`{"results": [{"title": …, "url": …, "content": …}, …]}`. A `{query}` in the URL is replaced
instead, for endpoints with parameters of other names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, urlsplit

import msgspec

from bridle.errors import ConfigError, ToolError
from bridle.permissions.hosts import authority_of
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.base import Fixed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridle.tools.web.fetch import Fetched
    from bridle.tools.web.reach import Reach

URL_VARIABLE = "BRIDLE_SEARCH_URL"
KEY_VARIABLE = "BRIDLE_SEARCH_KEY"
TIMEOUT = 20.0
GRACE = 10.0
MAX_BYTES = 1_000_000
MAX_RESULTS = 20
LONGEST_SNIPPET = 400


class Endpoint(Fixed, frozen=True):
    """Where searches go. A key is only ever sent to the place that was named beside it."""

    url: str
    key: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is not a web address."""
        if authority_of(self.url.replace("{query}", "q")) is None:
            raise ConfigError(f"The search endpoint {self.url!r} is not an http(s):// URL.")

    def for_query(self, query: str) -> str:
        """The URL of one search."""
        if "{query}" in self.url:
            return self.url.replace("{query}", quote(query, safe=""))
        mark = "&" if urlsplit(self.url).query else "?"
        return f"{self.url}{mark}q={quote_plus(query)}&format=json"

    @property
    def authority(self) -> str:
        """Its host, and its port where that is none of the web's."""
        return authority_of(self.url.replace("{query}", "q")) or self.url


def endpoint(environ: Mapping[str, str], configured: str | None) -> Endpoint | None:
    """The endpoint that the environment names, else the configured one."""
    if url := environ.get(URL_VARIABLE):
        return Endpoint(url, environ.get(KEY_VARIABLE) or None)
    return Endpoint(configured) if configured else None


class _Hit(msgspec.Struct, frozen=True):
    url: str
    title: str = ""
    content: str | None = None


class _Answer(msgspec.Struct, frozen=True):
    results: list[_Hit]


def web_search_tool(place: Endpoint | None, reach: Reach, *, environ: Mapping[str, str]) -> Tool:
    """Build the tool; without an endpoint its calls say how to configure one."""
    hosts = (place.authority,) if place is not None else ()

    @tool(
        name="web_search",
        category="read",
        read_only=True,
        concurrency_safe=True,
        effect="safe",
        timeout=TIMEOUT + GRACE,
        hosts=lambda _args: hosts,
    )
    async def web_search(query: str, ctx: ToolContext[Any], limit: int = 8) -> str:
        """Search the web; returns titles, URLs and snippets."""
        if not query.strip():
            raise ToolError("The query is empty.", kind="invalid_arguments")
        if place is None:
            raise ToolError(
                "No search endpoint is configured.",
                hint=f"The user sets {URL_VARIABLE}, or tools.search_url in harness.yaml, to a "
                "SearxNG-compatible address such as https://search.example.org/search. Until "
                "then fetch a page that you know, or ask the user.",
                kind="not_configured",
            )
        from bridle.tools.web.fetch import Fetcher, Limits

        named = msgspec.structs.replace(reach, allowed=(*reach.allowed, place.authority))
        page = await Fetcher(tool="web_search", reach=named, environ=environ).get(
            place.for_query(query),
            limits=Limits(seconds=TIMEOUT, body=MAX_BYTES),
            depth=ctx.scope.depth,
            headers=[("Authorization", f"Bearer {place.key}")] if place.key else (),
            follow=False,
        )
        return _listed(_hits(page, place), max(1, min(limit, MAX_RESULTS)))

    return web_search


def _hits(page: Fetched, place: Endpoint) -> list[_Hit]:
    if page.status != 200 or page.cut:
        why = "was too long" if page.cut else f"was HTTP {page.status}"
        refused = "Its key may be missing or wrong, or JSON may be off there. "
        raise ToolError(
            f"The answer of the search endpoint {place.authority} {why}.",
            hint=f"{refused if page.status in (401, 403) else ''}Tell the user.",
            kind="search_failed",
        )
    try:
        return msgspec.json.decode(page.body, type=_Answer).results
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ToolError(
            f"The answer of the search endpoint {place.authority} is not of the form "
            f'{{"results": [{{"title", "url", "content"}}]}}: {error}.',
            hint="Tell the user; the endpoint must answer as SearxNG does with format=json.",
            kind="search_failed",
        ) from None


def _listed(hits: list[_Hit], limit: int) -> str:
    lines: list[str] = []
    for number, hit in enumerate(hits[:limit], 1):
        snippet = " ".join((hit.content or "").split())[:LONGEST_SNIPPET]
        title = " ".join(hit.title.split())[:LONGEST_SNIPPET] or "(no title)"
        lines += [f"{number}. {title}", f"   {hit.url}", *([f"   {snippet}"] if snippet else [])]
    return "\n".join(lines) or "(nothing found)"
