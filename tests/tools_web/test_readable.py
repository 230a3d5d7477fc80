from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.tools.web.markup import tokens
from bridle.tools.web.readable import readable

PAGE = """<!doctype html><html><head><title> A &amp; b </title><style>x{}</style></head><body>
<h1>Head <em>line</em></h1><p>Hello <a
 href="/x?a=1&amp;b=2">the <b>link</b></a>, see <code>foo()</code>.<p>Second
<ul><li>one<li>two <ul><li>deep</li></ul></li></ul>
<ol><li>a<li>b</ol><pre><code>def f():
    return 1 &lt; 2
</code></pre><table><tr><th>k<th>v<tr><td>1<td>2</table><blockquote>quote<br>me</blockquote>
<div style="display: none">secret <div>x</div></div><span hidden>also</span>
<script>alert("<p>n")</script><a href="javascript:">js</a> <img alt="pic" src=x>&eacute;<!-- - -->
</body>"""
TEXT = """# Head line

Hello [the link](https://e.org/x?a=1&b=2), see `foo()`.

Second

- one
- two
  - deep

1. a
2. b

```
def f():
    return 1 < 2
```

k | v
1 | 2

> quote
> me

js [image: pic]é"""


def test_headings_links_lists_tables_and_code_are_kept():
    assert readable(PAGE, base="https://e.org/a/") == ("A & b", TEXT)


@pytest.mark.parametrize(
    "piece",
    ["<", "<a", "<a ", "<!--", "<![", "&", "&#", "</", "<a b='", "<a '\">", "<script>", "<div>",
     "<ul>", "<a href=x>", "<td>x", "<title>", "<pre>", "<p a", "</script", "<a href=x><p>"],
)  # fmt: skip
def test_no_page_takes_long(piece):
    """The parser of the standard library takes minutes for several of these."""
    began = time.process_time()
    readable(piece * (300_000 // len(piece)))
    assert time.process_time() - began < 10


@given(st.text(alphabet="<>/!-ap b='\"&#x;\n", max_size=300))
def test_any_text_is_read(text):
    title, body = readable(text)
    assert isinstance(title, str)
    assert isinstance(body, str)
    assert all(token.kind in ("start", "end", "text") for token in tokens(text))


@given(st.text(max_size=200))
def test_plain_text_stays(text):
    import html

    assert readable(html.escape(text))[1].split() == text.split() or "\0" in text
