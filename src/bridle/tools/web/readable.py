"""HTML as text that a model can read: headings, links, lists, tables and code are kept."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from bridle.tools.web.markup import Token, tokens
from bridle.types.regex import lazy

SKIPPED = frozenset(
    ("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas")
)
BLOCKS = frozenset(
    ("address", "article", "aside", "body", "caption", "dd", "details", "dialog", "div", "dl",
     "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "html",
     "main", "nav", "ol", "p", "section", "summary", "table", "tbody", "tfoot", "thead", "ul")
)  # fmt: skip
HIDEABLE = frozenset(("div", "span", "section", "aside", "p", "ul", "dialog"))
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
DEEPEST = 8
LONGEST_HREF = 500
_HIDDEN = lazy(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def readable(page: str, *, base: str = "") -> tuple[str, str]:
    """The title and the text of a page; links are made absolute against `base`."""
    reader = _Reader(base)
    for token in tokens(page):
        reader.take(token)
    return reader.title, reader.text()


class _Reader:
    """Collects lines; inline text waits in `_words` until a block begins or ends."""

    def __init__(self, base: str) -> None:
        self.title = ""
        self._base = base
        self._lines: list[str] = []
        self._words: list[str] = []
        self._filled = False
        self._mark = ""
        self._lists: list[int | None] = []
        self._link: tuple[str, int] | None = None
        self._quotes = 0
        self._pre: list[str] | None = None
        self._skip: tuple[str, int] | None = None
        self._in_title = False

    def take(self, token: Token) -> None:
        """Take the next piece of the page."""
        if self._skip is not None:
            self._skipped(token)
            return
        match token.kind:
            case "start":
                self._start(token)
            case "end":
                self._end(token.value)
            case "text":
                self._data(token.value)

    def text(self) -> str:
        """All lines, without runs of empty ones."""
        self._flush()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines)).strip()

    def _skipped(self, token: Token) -> None:
        assert self._skip is not None
        name, depth = self._skip
        if token.kind == "text" or token.value != name:
            return
        depth += 1 if token.kind == "start" else -1
        self._skip = (name, depth) if depth else None

    def _start(self, token: Token) -> None:
        tag = token.value
        if tag in SKIPPED or _is_hidden(token):
            self._skip = (tag, 1)
        elif tag == "title":
            self._in_title = not self.title
        elif tag in BLOCKS or tag in HEADINGS:
            self._block(tag)
        else:
            self._inline(tag, token)

    def _block(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._flush(gap=not self._lists)
            self._lists.append(0 if tag == "ol" else None)
        else:
            self._flush(gap=tag not in ("dt", "dd", "tbody", "thead", "tfoot"))
        self._mark = HEADINGS.get(tag, self._mark)

    def _inline(self, tag: str, token: Token) -> None:
        match tag:
            case "li":
                self._flush()
                self._mark = self._bullet()
            case "br" | "tr":
                self._flush()
            case "hr":
                self._flush(gap=True)
                self._lines += ["---", ""]
            case "td" | "th":
                if self._filled:
                    self._words.append(" | ")
            case "a":
                self._close_link()
                self._link = (self._href(token.get("href")), len(self._words))
            case "img":
                alt = " ".join((token.get("alt") or "").split())[:LONGEST_HREF]
                self._words.append(f"[image: {alt}]" if alt else "")
            case "code" | "kbd" | "samp" if self._pre is None:
                self._words.append("`")
            case "pre":
                self._flush(gap=True)
                self._pre = []
            case "blockquote":
                self._flush(gap=True)
                self._quotes += 1
            case _:
                pass

    def _end(self, tag: str) -> None:
        match tag:
            case "title":
                self._in_title = False
            case "ul" | "ol":
                self._flush(gap=len(self._lists) <= 1)
                del self._lists[-1:]
            case "li" | "tr" | "dt" | "dd":
                self._flush()
            case "a":
                self._close_link()
            case "code" | "kbd" | "samp" if self._pre is None:
                self._words.append("`")
            case "pre":
                self._close_pre()
            case "blockquote":
                self._flush(gap=True)
                self._quotes = max(0, self._quotes - 1)
            case _ if tag in BLOCKS or tag in HEADINGS:
                self._flush(gap=True)
            case _:
                pass

    def _data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join(f"{self.title} {data}".split())[:500]
        elif self._pre is not None:
            self._pre.append(data)
        else:
            self._words.append(data)
            self._filled = self._filled or not data.isspace()

    def _href(self, href: str | None) -> str:
        try:
            url = urljoin(self._base, (href or "").strip())
        except ValueError:
            return ""
        usable = url.startswith(("http://", "https://", "mailto:")) and len(url) <= LONGEST_HREF
        return url if usable else ""

    def _close_link(self) -> None:
        if self._link is None:
            return
        (href, start), self._link = self._link, None
        label = " ".join("".join(self._words[start:]).split())
        if href and label and self._pre is None:
            before = " " if self._words[start][:1].isspace() else ""
            after = " " if self._words[-1][-1:].isspace() else ""
            self._words[start:] = [f"{before}[{label}]({href}){after}"]

    def _close_pre(self) -> None:
        if self._pre is None:
            return
        code, self._pre = "".join(self._pre).strip("\n"), None
        if code.strip():
            fence = "```" if "```" not in code else "````"
            self._lines += [self._indent(line) for line in (fence, *code.splitlines(), fence)]
            self._lines.append("")

    def _bullet(self) -> str:
        if not self._lists or (number := self._lists[-1]) is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number + 1}. "

    def _indent(self, line: str, *, marked: bool = False) -> str:
        depth = min(len(self._lists), DEEPEST)
        inner = "  " * (depth - 1 if marked and depth else depth)
        return "> " * min(self._quotes, DEEPEST) + inner + line

    def _flush(self, *, gap: bool = False) -> None:
        text = " ".join("".join(self._words).split())
        self._words.clear()
        self._filled = False
        if self._link is not None:
            self._link = (self._link[0], 0)
        if text and text.strip("`"):
            listed = bool(self._mark) and not self._mark.startswith("#")
            self._lines.append(self._indent(self._mark + text, marked=listed))
            self._mark = ""
        if gap and self._lines and self._lines[-1]:
            self._lines.append("")


def _is_hidden(token: Token) -> bool:
    """Whether people do not see an element; what only a program reads is often meant to mislead."""
    if token.value not in HIDEABLE or not token.attributes:
        return False
    return token.get("hidden") is not None or bool(_HIDDEN.search(token.get("style") or ""))
