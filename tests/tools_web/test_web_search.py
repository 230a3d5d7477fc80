from __future__ import annotations

import json

import pytest

from bridle import Rules, Workspace
from bridle.errors import ConfigError
from bridle.testing import calls, says
from bridle.tools.builtin.web_search import Endpoint, endpoint
from support.calls import results

pytestmark = pytest.mark.anyio
HITS = {
    "results": [
        {"title": "One  page", "url": "https://a.org/1", "content": "about\n one", "engine": "x"},
        {"title": "Two", "url": "https://a.org/2"},
        {"title": "Three", "url": "https://a.org/3", "content": None},
    ]
}


async def search(opened, model, tmp_path, url, query="how & why", **args):
    model.plays(calls("web_search", query=query, **args), says("ok"))
    async with opened(
        "web_search",
        workspace=Workspace(tmp_path),
        search_url=url,
        permissions=Rules(tools={"web_search": "allow"}),
    ) as harness:
        session = await harness.session()
        await session.send("go")
        (end,) = await results(session)
        return end


async def test_the_endpoint_is_asked_and_the_results_are_listed(opened, model, server, tmp_path):
    server.page("/search", json.dumps(HITS), content_type="application/json")
    end = await search(opened, model, tmp_path, server.url("/search"), limit=2)
    assert not end.is_error, end.result
    assert "1. One page\n   https://a.org/1\n   about one" in end.result
    assert "Three" not in end.result
    assert server.requests == ["GET /search?q=how+%26+why&format=json HTTP/1.1"]


async def test_without_an_endpoint_the_answer_says_how_to_configure_one(opened, model, tmp_path):
    end = await search(opened, model, tmp_path, None)
    assert end.kind == "not_configured"
    assert "BRIDLE_SEARCH_URL" in end.result
    assert "tools.search_url" in end.result


async def test_the_host_of_the_endpoint_is_on_the_card(opened, model, server):
    model.plays(calls("web_search", query="x"), says("ok"))
    async with opened("web_search", search_url=server.url("/s")) as harness:
        session = await harness.session()
        result = await session.send("go")
        assert result.pending[0].card["hosts"] == [server.host]
        await session.decline(result.pending[0].id)
        await session.wait(result.run_id)
    assert server.requests == []


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("<html>", 200, "not of the form"),
        ('{"answers": []}', 200, "not of the form"),
        ('{"results": [{"title": 3}]}', 200, "not of the form"),
        ("no", 403, "HTTP 403"),
        ("x" * 1_500_000, 200, "too long"),
    ],
)
async def test_a_strange_answer_is_told(opened, model, server, tmp_path, body, status, said):
    server.page("/", body)
    assert isinstance(server.answers["/"], bytes)
    server.answers["/"] = server.answers["/"].replace(b"200 OK", f"{status} X".encode(), 1)
    end = await search(opened, model, tmp_path, server.url("/"))
    assert end.kind == "search_failed"
    assert said in end.result


async def test_redirects_are_not_followed(opened, model, server, tmp_path):
    server.redirect("/", server.url("/else"))
    end = await search(opened, model, tmp_path, server.url("/"))
    assert "HTTP 302" in end.result
    assert len(server.requests) == 1


def test_the_key_goes_only_to_the_place_named_beside_it():
    environ = {"BRIDLE_SEARCH_URL": "https://s.org/?a=1", "BRIDLE_SEARCH_KEY": "k"}
    own = endpoint(environ, "https://project.org/")
    assert (own.authority, own.key) == ("s.org", "k")
    assert own.for_query("x y") == "https://s.org/?a=1&q=x+y&format=json"
    project = endpoint({"BRIDLE_SEARCH_KEY": "k"}, "https://project.org/find/{query}.json")
    assert project.key is None
    assert project.for_query("a/b") == "https://project.org/find/a%2Fb.json"
    for bad in ("file:///x", "search.org", "http://u:p@s.org"):
        with pytest.raises(ConfigError, match="search endpoint"):
            Endpoint(bad)
