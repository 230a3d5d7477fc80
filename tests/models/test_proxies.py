from __future__ import annotations

import pytest

from bridle.errors import ConfigError
from bridle.models.proxies import proxy_for, split_url


def chosen(url: str, **environ: str) -> str | None:
    proxy = proxy_for(split_url(url)[0], environ)
    return None if proxy is None else f"{proxy.origin.scheme}://{proxy.origin.authority}"


def test_each_scheme_has_its_own_variable() -> None:
    both = {"HTTP_PROXY": "http://a:1", "HTTPS_PROXY": "http://b:2"}
    assert chosen("http://x/", **both) == "http://a:1"
    assert chosen("https://x/", **both) == "http://b:2"
    assert chosen("https://x/", HTTP_PROXY="http://a:1") is None
    assert chosen("https://x/", ALL_PROXY="a:1") == "http://a:1"


def test_lower_case_wins() -> None:
    assert chosen("http://x/", http_proxy="http://low:1", HTTP_PROXY="http://up:1") == (
        "http://low:1"
    )


@pytest.mark.parametrize(
    ("entry", "url", "direct"),
    [
        ("*", "http://any.host/", True),
        ("example.com", "http://example.com/", True),
        ("example.com", "http://api.example.com/", True),
        (".example.com", "http://api.example.com/", True),
        ("*.example.com", "http://api.example.com/", True),
        ("example.com", "http://notexample.com/", False),
        ("example.com:8080", "http://example.com:8080/", True),
        ("example.com:8080", "http://example.com/", False),
        ("10.0.0.0/8", "http://10.1.2.3/", True),
        ("10.0.0.0/8", "http://11.1.2.3/", False),
        ("[::1]:80", "http://[::1]/", True),
        ("::1", "http://[::1]/", True),
        ("a, b ,EXAMPLE.com", "http://example.com/", True),
        ("", "http://example.com/", False),
        ("not/anet", "http://example.com/", False),
    ],
)
def test_no_proxy(entry: str, url: str, direct: bool) -> None:
    assert (chosen(url, http_proxy="http://p:1", no_proxy=entry) is None) is direct


def test_credentials_are_kept_out_of_texts() -> None:
    proxy = proxy_for(split_url("http://x/")[0], {"http_proxy": "http://me:pw@p:1"})
    assert proxy is not None
    assert proxy.authorization == "Basic bWU6cHc="
    assert "pw" not in repr(proxy)
    with pytest.raises(ConfigError) as error:
        chosen("http://x/", http_proxy="socks5://me:pw@p:1")
    assert "pw" not in str(error.value)


def test_urls_are_split() -> None:
    origin, target = split_url("https://host.example/v1/x?a=b")
    assert (origin.scheme, origin.host, origin.port, target) == (
        "https",
        "host.example",
        443,
        "/v1/x?a=b",
    )
    assert split_url("http://[::1]:8080")[0].host_header == "[::1]:8080"
    assert split_url("http://h:80/")[0].host_header == "h"
