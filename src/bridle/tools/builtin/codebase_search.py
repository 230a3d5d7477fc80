"""Find the code that a question is about."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.define import Tool, tool

if TYPE_CHECKING:
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.codesearch.index import Index, Scored
    from bridle.tools.codesearch.places import Place

INDEX_SECONDS = 90.0
TIMEOUT = 150.0
MAX_RESULTS = 30
CANDIDATES = 3
"""How many files are looked into for each result."""


def codebase_search_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace; its index lives as long as the tool."""
    search = Search(place)

    @tool(
        name="codebase_search",
        category="read",
        read_only=True,
        concurrency_safe=True,
        effect="safe",
        timeout=TIMEOUT,
        paths=lambda args: place.touched({"path": args.get("path", ".")}),
    )
    async def codebase_search(query: str, path: str = ".", limit: int = 10) -> str:
        """Find code by words of names and text, best first; for exact text use grep."""
        start = place.files.resolve(path)
        wanted = max(1, min(limit, MAX_RESULTS))
        return await anyio.to_thread.run_sync(
            search.find, query, start, wanted, abandon_on_cancel=True
        )

    return codebase_search


class Search:
    """The index of a workspace, and how its answers are written."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._index: Index | None = None
        self._lock = Lock()

    def find(self, query: str, start: str, limit: int) -> str:
        """The best places for a query below a directory."""
        from pathlib import Path

        from bridle.tools.codesearch.index import Index
        from bridle.tools.codesearch.words import query_words

        asked = query_words(query)
        if not asked:
            raise ToolError(
                "The query holds no word.",
                hint="Name what the code does or what it is called, such as 'retry delay'.",
                kind="invalid_arguments",
            )
        root = str(self._place.root)
        if not Path(start).exists():
            raise ToolError(f"There is nothing at {start!r}.", kind="not_found")
        below = "" if start == root else start.removeprefix(root).strip("/")
        with self._lock:
            self._index = self._index or Index(root)
            complete = self._index.update(start, seconds=INDEX_SECONDS)
            files = self._index.rank(asked, below=below, limit=limit * CANDIDATES)
            found = self._places(self._index, files, asked)
            notes = _notes(self._index, complete=complete)
        shown = [place.shown() for place in found[:limit]]
        return "\n\n".join([*(shown or ["(nothing found)"]), *notes])

    def _places(self, index: Index, files: list[Scored], asked: tuple[str, ...]) -> list[Place]:
        from bridle.tools.codesearch.index import MAX_FILE_BYTES
        from bridle.tools.codesearch.places import places

        found: list[Place] = []
        for scored in files:
            try:
                body, _ = self._place.files.read(scored.path, limit=MAX_FILE_BYTES)
            except ToolError:  # hidden, or gone since it was listed
                continue
            text = body.decode("utf-8", "replace")
            found += places(scored.path, text, asked, index.weight, scored.score)
        return sorted(found, key=lambda place: (-place.score, place.path, place.line))


def _notes(index: Index, *, complete: bool) -> list[str]:
    notes: list[str] = []
    if not complete:
        notes.append(f"(only {index.size} files were read in time; ask again to go on)")
    if index.left_out:
        notes.append(f"({index.left_out} files were left out; name a path to search in them)")
    return notes
