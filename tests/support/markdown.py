"""The blocks, links and headings of a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(
    r"^(?P<fence>```+)(?P<language>\w*)\n(?P<body>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE
)
_REASON = re.compile(r"<!-- not run: (?P<reason>.+?) -->\s*\Z")
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """Code on a page. `reason` is set when the page says, visibly, why it is not run."""

    page: Path
    line: int
    language: str
    body: str
    reason: str | None

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        if found["language"] in languages:
            before = _REASON.search(text[: found.start()])
            line = text.count("\n", 0, found.start()) + 1
            reason = before["reason"] if before else None
            yield Block(page, line, found["language"], found["body"], reason)


def prose(page: Path) -> str:
    """A page without its blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """The targets of a page's links, those to other sites left out."""
    found = [match["target"] for match in _LINK.finditer(prose(page))]
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
