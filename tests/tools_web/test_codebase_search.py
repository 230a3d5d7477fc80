from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bridle import ToolError, Workspace
from bridle.testing import calls, says
from bridle.tools.builtin.codebase_search import Search
from bridle.tools.codesearch import corpus, symbols
from bridle.tools.codesearch.rank import Query
from bridle.tools.codesearch.words import parts, query_words
from support.calls import results

PYTHON = '''\
"""Sessions."""

class SessionStore:
    """Keeps sessions."""

    def expire_old(self, now):
        for key in list(self.items):
            if self.items[key].deadline < now:
                del self.items[key]


def parseURLQuery(text):
    return dict(pair.split("=") for pair in text.split("&"))
'''
GO = """package limit

// Bucket is a token bucket.
type TokenBucket struct { rate float64 }

func (b *TokenBucket) Allow(n int) bool {
    return b.rate > float64(n)
}
"""
JAVASCRIPT = """export class RetryPolicy {
  constructor(max) { this.max = max }
}

export async function fetchWithRetries(url, policy) {
  return fetch(url)
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "app/session.py": PYTHON,
        "limit/bucket.go": GO,
        "web/client.js": JAVASCRIPT,
        "web/test_client.js": "test('fetchWithRetries retries', () => fetchWithRetries())\n",
        "docs/notes.md": "The token bucket limits requests.\n",
        "build/generated.py": "def expire_old(): pass\n",
        ".gitignore": "build/\n*.log\n",
        "run.log": "expire old sessions\n",
        "binary.bin": "expire\0old",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def search(project: Path) -> Search:
    return Search(Workspace(project, sandbox="none").place())


def heads(search: Search, query: str, start: Path, limit: int = 5) -> list[str]:
    blocks = search.find(query, str(start), limit).split("\n\n")
    return [block.split("\n")[0] for block in blocks]


def test_identifiers_are_taken_apart():
    assert parts("parseURLQuery") == ("parse", "url", "query", "parseurlquery")
    assert parts("_max_retries") == ("max", "retry", "max_retries")
    assert parts("HTTPServer2") == ("http", "server", "2", "httpserver2")
    assert query_words("where is the parseURL of sessions?") == (
        "parse",
        "url",
        "parseurl",
        "session",
    )
    assert query_words("the") == ("the",)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("expire old sessions", "app/session.py:6 (function SessionStore.expire_old)"),
        ("parse url query", "app/session.py:12 (function parseURLQuery)"),
        ("parse_url", "app/session.py:12 (function parseURLQuery)"),
        ("token bucket allow", "limit/bucket.go:"),
        ("fetch with retry", "web/client.js:5 (function fetchWithRetries)"),
        ("retry policy", "web/client.js:1 (class RetryPolicy)"),
        ("test of fetch retries", "web/test_client.js:1"),
    ],
)
def test_the_best_place_comes_first(search, project, query, first):
    assert heads(search, query, project)[0].startswith(first)


def test_a_word_is_a_part_of_an_identifier_and_not_any_letters():
    files = [("a", b"curly = 1"), ("b", b"parseURL = 1"), ("c", b"url_of = 2"), ("d", b"URLS = 3")]
    assert {scored.path for scored in Query(("url",)).rank(files, limit=9)} == {"b", "c", "d"}


def test_ignored_and_binary_files_are_left_out(search, project):
    found = heads(search, "expire old", project, 20)
    assert not any("build/" in head or "run.log" in head or "binary" in head for head in found)
    assert any("app/session.py" in head for head in found)


def test_a_path_limits_it(search, project):
    found = heads(search, "token bucket", project / "docs")
    assert [head.split(":")[0] for head in found] == ["docs/notes.md"]
    assert heads(search, "zebra crossing", project) == ["(nothing found)"]
    with pytest.raises(ToolError, match="no word"):
        search.find("?!", str(project), 5)


def test_only_what_changed_is_read_again(search, project):
    heads(search, "session", project)
    assert search._corpus.read > 4
    heads(search, "bucket", project)
    assert search._corpus.read == 0
    target = project / "app/session.py"
    target.write_text("def brand_new_thing(): ...\n")
    os.utime(target, ns=(1, 1))
    assert heads(search, "brand new thing", project)[0].startswith("app/session.py:1")
    assert search._corpus.read == 1
    target.unlink()
    assert heads(search, "brand new thing", project) == ["(nothing found)"]


def test_memory_is_bounded(project, monkeypatch):
    monkeypatch.setattr(corpus, "MAX_KEPT", 600)
    files = corpus.Corpus(str(project))
    names = [path for path, _ in files.files(str(project), seconds=30)]
    assert len(names) > 5
    assert files._size <= 600
    assert sum(len(body) for _, body in files._kept.values()) == files._size
    monkeypatch.setattr(corpus, "MAX_FILES", 2)
    assert len(list(files.files(str(project), seconds=30))) <= 2
    assert files.left_out > 0


def test_links_and_hidden_files_show_nothing(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.py"
    outside.write_text("def launch_code(): return 42\n")
    (project / "link.py").symlink_to(outside)
    search = Search(Workspace(project, sandbox="none").place())
    assert heads(search, "launch code", project) == ["(nothing found)"]


def test_without_a_grammar_the_look_of_lines_tells(monkeypatch):
    grammar = symbols.symbols("a.py", PYTHON)
    assert [(s.name, s.line) for s in grammar] == [
        ("SessionStore", 3),
        ("SessionStore.expire_old", 6),
        ("parseURLQuery", 12),
    ]
    symbols._python.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_python", None)
    try:
        plain = symbols.symbols("a.py", PYTHON)
    finally:
        monkeypatch.undo()
        symbols._python.cache_clear()
    assert [(s.name, s.line) for s in plain] == [
        ("SessionStore", 3),
        ("expire_old", 6),
        ("parseURLQuery", 12),
    ]
    assert [s.end for s in plain[:2]] == [11, 11]


@pytest.mark.anyio
async def test_it_is_a_tool_of_an_agent(opened, model, project):
    model.plays(calls("codebase_search", query="expire sessions", limit=1), says("ok"))
    workspace = Workspace(project, sandbox="none")
    async with opened("codebase_search", workspace=workspace) as harness:
        session = await harness.session()
        await session.send("go")
        (end,) = await results(session)
    assert not end.is_error
    assert end.result.startswith("app/session.py:3 (class SessionStore)\n3\tclass SessionStore:\n")
