"""Find the code that a question is about."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import anyio.to_thread

from bridle.errors import ToolError
from bridle.tools.define import Tool, tool

if TYPE_CHECKING:
    from bridle.tools.builtin.workspace import Workplace
    from bridle.tools.codesearch.corpus import Corpus
    from bridle.tools.codesearch.places import Place
    from bridle.tools.codesearch.rank import Query

SCAN_SECONDS = 60.0
TIMEOUT = 120.0
MAX_RESULTS = 30
CANDIDATES = 2
"""How many files are looked into for each result."""


def codebase_search_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace; what it has read lives as long as the tool."""
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
    """The files of a workspace, and how answers about them are written."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._corpus: Corpus | None = None
        self._lock = Lock()

    def find(self, query: str, start: str, limit: int) -> str:
        """The best places for a query below a directory."""
        from bridle.tools.codesearch.corpus import Corpus
        from bridle.tools.codesearch.rank import Query
        from bridle.tools.codesearch.words import query_words

        asked = query_words(query)
        if not asked:
            raise ToolError(
                "The query holds no word.",
                hint="Name what the code does or what it is called, such as 'retry delay'.",
                kind="invalid_arguments",
            )
        if not Path(start).exists():
            raise ToolError(f"There is nothing at {start!r}.", kind="not_found")
        question = Query(asked)
        with self._lock:
            corpus = self._corpus = self._corpus or Corpus(str(self._place.root))
            files = corpus.files(start, seconds=SCAN_SECONDS)
            best = question.rank(files, limit=limit * CANDIDATES)
            left_out = corpus.left_out
        found: list[Place] = []
        for scored in best:
            found += self._places(scored.path, question, scored.score)
        found.sort(key=lambda place: (-place.score, place.path, place.line))
        shown = [place.shown() for place in found[:limit]] or ["(nothing found)"]
        if left_out:
            shown.append(f"({left_out} files were left out; name a path to search in them)")
        return "\n\n".join(shown)

    def _places(self, path: str, question: Query, score: float) -> list[Place]:
        """The places in a file, read again by the rules of the workspace."""
        from bridle.tools.codesearch.corpus import MAX_FILE_BYTES
        from bridle.tools.codesearch.places import places

        try:
            body, _ = self._place.files.read(path, limit=MAX_FILE_BYTES)
        except ToolError:  # hidden, or gone since it was listed
            return []
        text = body.decode("utf-8", "replace")
        return places(path, text, question.words, question.weights, score)
